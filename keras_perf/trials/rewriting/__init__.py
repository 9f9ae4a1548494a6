"""Another pipeline of a dataset, which gives the same elements."""
