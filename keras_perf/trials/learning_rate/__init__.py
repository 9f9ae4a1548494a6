"""A range test of learning rates."""
