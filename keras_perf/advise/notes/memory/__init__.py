"""What is said of memory, and of trainings that it ended."""
