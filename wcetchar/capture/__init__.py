"""Runs an emulator and records what the firmware does."""
