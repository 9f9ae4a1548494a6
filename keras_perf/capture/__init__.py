"""Traces are taken: when, how large, with which door to TensorFlow's profiler."""
