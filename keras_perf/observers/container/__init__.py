"""What a container may use, and how it is stopped when it has used that up."""
