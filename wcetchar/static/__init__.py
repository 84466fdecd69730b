"""Every path that a program can take: control flow, loops, flow facts, and the path model.

Pure: an image and its instruction table come in, a :class:`~wcetchar.model.path_model.PathModel`
goes out. ``engine`` solves it for an integrator's prices.
"""
