"""What a step asks of the hardware, and of its peak."""
