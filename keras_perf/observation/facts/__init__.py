"""What machine, model and input tell about themselves when they are asked."""
