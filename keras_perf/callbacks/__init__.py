"""The callbacks: thin adapters from Keras's `fit` to the observers."""
