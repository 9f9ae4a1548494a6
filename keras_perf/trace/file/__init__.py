"""The file of a trace, decoded."""
