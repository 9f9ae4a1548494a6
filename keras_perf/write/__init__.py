"""Puts records into TensorBoard event files, without TensorFlow."""
