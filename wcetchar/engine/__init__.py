"""Characterization + profile + map -> estimate."""
