"""What is observed of a training, by whom, and who is told."""
