"""Which steps are captured, and what that costs."""
