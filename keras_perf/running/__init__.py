"""A program that knows nothing of us is run; what it trains, evaluates and predicts is observed."""
