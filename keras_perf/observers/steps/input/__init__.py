"""What steps wait for: the times and the stages of their input pipeline."""
