"""From frames to measured summaries."""
