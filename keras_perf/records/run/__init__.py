"""What is known of a run beside its figures."""
