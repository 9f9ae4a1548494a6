"""What the functions of a pipeline do: whether their calls are alike, and batches as elements."""
