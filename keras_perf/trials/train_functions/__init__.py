"""Train functions, run in other ways and with their state put back."""
