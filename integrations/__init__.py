"""Adapters for inference engines, one module each."""
