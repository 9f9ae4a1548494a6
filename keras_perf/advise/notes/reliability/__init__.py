"""How far the figures can be trusted, and what is not in them."""
