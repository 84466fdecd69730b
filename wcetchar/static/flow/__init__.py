"""Control flow of a program: an image and its instruction table to functions, blocks and loops.

``graph.program_graph`` is what others call. ``steps_*`` say what instructions do to the values that
indirect jumps depend on; ``interpret`` follows these through a function, ``jump_tables`` reads what
they lead to.
"""
