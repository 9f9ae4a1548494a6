"""Which numbers of steps per execution are tried, and what the times tell."""
