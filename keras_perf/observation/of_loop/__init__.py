"""The observation of a custom training loop."""
