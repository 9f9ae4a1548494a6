"""What is known of the input."""
