"""What a trace alone can tell of a run."""
