"""What is asked of the machine."""
