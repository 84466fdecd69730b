"""ELF file -> model: the only user of pyelftools."""
