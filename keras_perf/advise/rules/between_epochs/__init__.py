"""Advice on what lies between epochs: validation, predictions, hooks."""
