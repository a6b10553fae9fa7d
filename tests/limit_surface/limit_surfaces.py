"""Friction sets with what is known of them independently: how far they reach in a direction."""

import math

import numpy as np

import stickslip as ss


def superellipse(t, o, r, speed, x, y, z, time):
    """(t⁴ + (2 o)⁴ + r⁴)^¼: a gauge whose set is half as wide along o."""
    value = math.sqrt(math.sqrt(t**4 + (2 * o) ** 4 + r**4))
    if value == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    return value, (t / value) ** 3, 2 * (2 * o / value) ** 3, (r / value) ** 3


def ball(t, o, r, speed, x, y, z, time):
    value = math.sqrt(t * t + o * o + r * r)
    if value == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    return value, t / value, o / value, r / value


FACES = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0.2], [0, -1, 0], [0.1, 0, 1], [0, 0, -1], [1, 1, 1], [-1, -1, 0.5]])
POLYHEDRON = ss.Polyhedron(FACES)
SETS = {
    "ellipsoid": ss.Ellipsoid(),
    "mixed": ss.Mixed(),
    "polyhedron": POLYHEDRON,
    "superellipse": ss.FrictionMap(superellipse),
    "ball as a map": ss.FrictionMap(ball),
}


def reach(name, direction):
    """The support function max d · s over B, each by its closed form."""
    d = np.asarray(direction)
    match name:
        case "mixed":
            return math.hypot(d[0], d[1]) + abs(d[2])
        case "polyhedron":
            return float((POLYHEDRON.vertices @ d).max())
        case "superellipse":  # the dual norm, exponent 4/3
            return float((abs(d[0]) ** (4 / 3) + abs(d[1] / 2) ** (4 / 3) + abs(d[2]) ** (4 / 3)) ** 0.75)
        case _:
            return float(np.linalg.norm(d))


def excess(name, s):
    """How much longer s must not be: its gauge, each by its closed form."""
    s = np.asarray(s)
    match name:
        case "mixed":
            return max(math.hypot(s[0], s[1]), abs(s[2]))
        case "polyhedron":
            return float((FACES @ s).max())
        case "superellipse":
            return superellipse(*s, 0, 0, 0, 0, 0)[0]
        case _:
            return float(np.linalg.norm(s))
