"""A training as parts that are changed on trial, one by one or together."""
