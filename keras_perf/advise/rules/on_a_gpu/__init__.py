"""Advice that only a GPU gives reason for."""
