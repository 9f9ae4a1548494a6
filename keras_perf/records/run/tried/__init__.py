"""What was tried on a training."""
