"""Training steps run on purpose, to measure what they cost."""
