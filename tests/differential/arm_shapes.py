"""Encodings of Arm state to try, drawn from the shapes that the manual gives them."""

from __future__ import annotations

import random

# The shape of every instruction of version 4, one letter for each bit that may be anything: written
# from the encoding diagram of the manual (A3.1, figure A3-1), not from the decoder's table.
SHAPES = {
    "data, constant": "xxxx001ooooSnnnnddddrrrriiiiiiii",
    "data, shift by constant": "xxxx000ooooSnnnnddddiiiiiss0mmmm",
    "data, shift by register": "xxxx000ooooSnnnnddddrrrr0ss1mmmm",
    "multiply": "xxxx000000ASddddnnnnssss1001mmmm",
    "multiply long": "xxxx00001UASddddnnnnssss1001mmmm",
    "swap": "xxxx00010B00nnnndddd00001001mmmm",
    "half, constant": "xxxx000PU1WLnnnnddddiiii1SH1iiii",
    "half, register": "xxxx000PU0WLnnnndddd00001SH1mmmm",
    "word or byte, constant": "xxxx010PUBWLnnnnddddiiiiiiiiiiii",
    "word or byte, register": "xxxx011PUBWLnnnnddddiiiiiss0mmmm",
    "multiple": "xxxx100PUSWLnnnnrrrrrrrrrrrrrrrr",
    "branch": "xxxx101Liiiiiiiiiiiiiiiiiiiiiiii",
    "mrs": "xxxx00010R001111dddd000000000000",
    "msr, register": "xxxx00010R10ffff111100000000mmmm",
    "msr, constant": "xxxx00110R10ffff1111rrrriiiiiiii",
    "bx": "xxxx000100101111111111110001mmmm",
    "swi": "xxxx1111iiiiiiiiiiiiiiiiiiiiiiii",
    "undefined": "111001111111iiiiiiiiiiii1111iiii",
}


def draw(rng: random.Random) -> int:
    """A random instruction of a random shape, mostly unconditional."""
    shape = rng.choice(list(SHAPES.values()))
    code = 0
    for letter in shape:
        code = code << 1 | (int(letter) if letter in "01" else rng.getrandbits(1))
    if shape[0] == "x" and rng.random() < 0.7:
        code = code & 0x0FFFFFFF | 0xE0000000
    if rng.random() < 0.3:  # compares and moves have a register field that is zero
        code &= rng.choice((0xFFF0FFFF, 0xFFFF0FFF))
    return code
