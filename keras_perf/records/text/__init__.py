"""Text that comes from outside, and where it is shown."""
