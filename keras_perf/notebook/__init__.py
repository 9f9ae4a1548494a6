"""In a notebook: the magic `%%keras_perf`."""
