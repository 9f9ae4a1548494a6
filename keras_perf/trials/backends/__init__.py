"""What trials ask of Keras's backend: a module each for TensorFlow and JAX."""
