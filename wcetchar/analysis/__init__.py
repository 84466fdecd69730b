"""Events -> characterization: windows, accesses, blocking, repetition."""
