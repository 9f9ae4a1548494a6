"""What lies before and between steps."""
