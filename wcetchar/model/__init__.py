"""The model: frozen dataclasses that every floor speaks in. No I/O, no policy."""
