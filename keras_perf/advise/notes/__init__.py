"""What is said beside verdict and recommendations."""
