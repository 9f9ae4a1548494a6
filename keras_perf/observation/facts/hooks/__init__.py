"""What callbacks' hooks of batches do when they are called again, by their code."""
