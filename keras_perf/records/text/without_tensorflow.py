"""Where something that was asked for needs TensorFlow, and it is not installed."""

NEEDED = "needs TensorFlow, which is not installed: pip install tensorflow."


def lacks_tensorflow(error: ModuleNotFoundError) -> bool:
    """It is TensorFlow that was not found, and no module of one that is there."""
    return error.name == "tensorflow"
