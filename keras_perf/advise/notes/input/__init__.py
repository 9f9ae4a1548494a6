"""What is said of the input, beside advice."""
