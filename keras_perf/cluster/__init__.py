"""Several workers before and around training: who they are, that they are there, that they stay."""
