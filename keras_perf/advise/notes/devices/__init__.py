"""What is said of GPUs and replicas."""
