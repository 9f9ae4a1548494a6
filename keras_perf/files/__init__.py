"""The door to file systems: local paths, and URLs such as `gs://bucket/logs`."""
