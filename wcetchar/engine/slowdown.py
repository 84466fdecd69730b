"""The slowdown factor F_sd: how much longer something takes while others use its bus.

*Definition* (Schoenberg, Mehnert, Hamann, Reuther, Haertig, Performance and Bus Transfer
Influences, Dresden University of Technology, 1998)::

    F_sd = time under bus load / time alone

It scales what a task needs of the processor in the analysis of a schedule (``scaled``).

*Under a load.* Others take a share u = load / capacity of the bus's time, where the capacity is
what they would get of the bus alone. So every piece of bus time is stretched, and no other time::

    t(u)  = t_core + t_bus / (1 - u)
    F_sd  = 1 + b * u / (1 - u)                 b = t_bus / (t_core + t_bus), the bus share

That is an average, and its result an estimate: others' traffic is spread evenly over the time, does
not give way when the bus is busy, and core and bus do not work at the same time. Backwards, a
measured factor tells the bus share of a task whose accesses are not known, and a task of nothing
but bus time tells what share of the bus is gone::

    b = (F_sd - 1) * (1 - u) / u                u = 1 - 1 / F_sd of b = 1

A b above 1 says that the model with this u does not explain the factor.

*At most.* If others have the bus for sigma + u * x at most within any time x (bursts of sigma), and
nobody but them makes the core wait, a window that takes t alone ends at the latest after x with
x = t + sigma + u * x::

    t(u)  <= (t + sigma) / (1 - u)

Inputs: times in nanoseconds, shares of 1. All is exact.

Caveat: a factor made of two upper ends scales upper ends. A run that takes less alone may be slowed
down by more than F_sd, for it may wait as long.
"""

from __future__ import annotations

from fractions import Fraction


def scaled(time: Fraction, factor: Fraction) -> Fraction:
    """What takes ``time`` nanoseconds alone takes so long under load.

    Raises:
        ValueError: the time is negative, or the factor is below 1.
    """
    if time < 0 or factor < 1:
        raise ValueError(f"{time} ns alone and a slowdown factor of {factor}")
    return time * factor


def stretch(taken: Fraction) -> Fraction:
    """By what bus time is multiplied where others take a share ``taken`` of the bus's time.

    Raises:
        ValueError: nothing or less than nothing is left.
    """
    if not 0 <= taken < 1:
        raise ValueError(f"others take {taken} of the bus")
    return 1 / (1 - taken)


def factor_of(bus_share: Fraction, taken: Fraction) -> Fraction:
    """F_sd of what is on the bus for ``bus_share`` of its time alone.

    Raises:
        ValueError: a share is not from 0 to 1.
    """
    if not 0 <= bus_share <= 1:
        raise ValueError(f"a share of {bus_share}")
    return 1 + bus_share * (stretch(taken) - 1)


def bus_share_of(factor: Fraction, taken: Fraction) -> Fraction:
    """The inverse of ``factor_of``; above 1 where no share explains the factor.

    Raises:
        ValueError: the factor is below 1, or others take none or all of the bus.
    """
    if factor < 1 or not taken:
        raise ValueError(f"a factor of {factor} where others take {taken} of the bus")
    return (factor - 1) / (stretch(taken) - 1)


def taken_of(factor: Fraction) -> Fraction:
    """The share of the bus that others take, by F_sd of what is on the bus all of its time.

    Raises:
        ValueError: the factor is below 1.
    """
    if factor < 1:
        raise ValueError(f"a factor of {factor}")
    return 1 - 1 / factor


def at_most(alone: Fraction, taken: Fraction, burst: Fraction) -> Fraction:
    """When a window of ``alone`` nanoseconds ends at the latest, others having bursts of ``burst``
    nanoseconds.

    Raises:
        ValueError: a time is negative, or nothing of the bus is left.
    """
    if alone < 0 or burst < 0:
        raise ValueError(f"{alone} ns alone, bursts of {burst} ns")
    return (alone + burst) * stretch(taken)
