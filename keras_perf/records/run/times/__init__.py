"""What takes time beside ordinary steps, and how often."""
