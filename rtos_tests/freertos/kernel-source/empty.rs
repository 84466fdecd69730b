// Nothing: only the dependency's files are wanted.
