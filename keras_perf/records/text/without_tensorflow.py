"""Where something that was asked for needs TensorFlow, and it is not installed."""

NEEDED = "needs TensorFlow, which is not installed: pip install tensorflow."


def lacks_tensorflow(error: ModuleNotFoundError) -> bool:
    """It is TensorFlow, or a module of it, that was not found."""
    return error.name is not None and error.name.partition(".")[0] == "tensorflow"
