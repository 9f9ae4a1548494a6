"""One part of a training measured alone."""
