"""What another process needs to train the same model: the model, and what can be imported here."""
