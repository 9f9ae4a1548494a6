"""The observation of Keras's `fit`."""
