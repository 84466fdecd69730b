"""Trace formats, one file each: byte stream -> event batches."""
