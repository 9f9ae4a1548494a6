"""What a step takes, of what, and what a change makes of it."""
