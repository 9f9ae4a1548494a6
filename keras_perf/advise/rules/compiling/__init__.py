"""Advice against tracing and compiling again and again."""
