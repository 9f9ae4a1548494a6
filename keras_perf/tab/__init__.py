"""The Performance tab of TensorBoard."""
