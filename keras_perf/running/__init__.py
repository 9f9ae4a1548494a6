"""A program that knows nothing of us is run, and each `fit` that it makes is observed."""
