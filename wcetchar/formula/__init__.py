"""Formulas over parameters: parse, evaluate, print."""
