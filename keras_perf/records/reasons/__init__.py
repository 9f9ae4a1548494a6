"""Sentences of ours that a run holds: why, and at what price."""
