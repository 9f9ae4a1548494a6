"""What is observed where Keras computes with TensorFlow, or with JAX; one class each."""
