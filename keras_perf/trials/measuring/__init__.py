"""How trials measure: in turn, in rounds, with iterators of their own."""
