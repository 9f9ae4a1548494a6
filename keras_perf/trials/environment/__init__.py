"""Settings of the environment that TensorFlow reads when it starts, each tried in a new process."""
