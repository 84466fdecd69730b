"""Estimates and characterizations as plain rows (view) and as text."""
