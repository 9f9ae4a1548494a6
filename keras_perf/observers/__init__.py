"""Turns times and sensor readings that it is given into records. Knows no framework."""
