"""From a measured summary to a verdict and advice. Pure functions."""
