"""Evaluations and predictions, watched: a validation, an `evaluate`, a `predict`."""
