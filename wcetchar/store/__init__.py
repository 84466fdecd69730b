"""The hand-written and published files <-> model, with their schemas."""
