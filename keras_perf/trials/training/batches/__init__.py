"""Batches of a training on trial: their numbers, their rows, their lengths."""
