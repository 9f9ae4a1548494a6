"""What is sampled beside training, in a thread of its own."""
