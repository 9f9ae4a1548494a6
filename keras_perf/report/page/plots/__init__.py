"""What is drawn: lanes, curves, graphs, and the scales of their axes."""
