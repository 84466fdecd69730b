"""What executed instructions count: core events, stalls and fetches, of any sequence of them.

Both halves of the vendor's side count with this: ``analysis`` what a trace shows, ``static`` what a
path would. Inputs are columns of numbers, so that thousands of instructions are counted by a few
numpy calls.
"""
