"""Means over the intervals of a run, and what chance leaves open of them."""
