"""The GPUs, through NVIDIA's library."""
