"""One use case per verb: the only place where the floors meet."""
