"""Which interrupts are masked, and whether the scheduler is locked, along every path of a program.

``held`` is what is known at one point of a path, ``effects`` what single instructions do to it,
``follow`` goes on with it block by block, ``joined`` says which blocks belong to a masked stretch.
"""
