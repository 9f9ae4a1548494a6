"""Training steps of other batch sizes, each size in a process of its own."""
