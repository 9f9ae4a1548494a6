"""What is asked of the input."""
