"""What a training would gain if something were gone, and how surely."""
