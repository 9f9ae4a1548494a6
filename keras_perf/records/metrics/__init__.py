"""The table of everything that is logged."""
