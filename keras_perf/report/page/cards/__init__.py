"""A card of the page each: what is told of one side of a run."""
