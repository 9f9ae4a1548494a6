"""Advice of which a trial has measured what it buys."""
