"""The parts of an evaluation or a prediction."""
