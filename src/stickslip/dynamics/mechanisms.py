"""The mechanisms of Peiret, Kövecses and Font-Llagunes [1], by their own functions: Painlevé's rod and the arm; and a
peg in a hole.

Each is also an example of how to write a GeneralizedSystem: a mass matrix, a bias, the rows of the contact.

[1] Peiret, Kövecses, Font-Llagunes, Analysis of friction coupling and the Painlevé paradox in multibody systems,
    Multibody System Dynamics 45 (2019) 361-378. The mass matrix (42) lacks a factor L₃ in three entries in print.
"""

from __future__ import annotations

import math
from math import cos, sin

import numpy as np

from stickslip.checks import checked, not_negative, number, positive, several
from stickslip.dynamics.generalized import ContactPoint, GeneralizedSystem
from stickslip.problems.matrix import Vector
from stickslip.remade import remade

ARM_LENGTHS = (0.5, 0.5, 0.1)  # L₁, L₂, L₃   [m]
ARM_HEIGHT = 0.6  # of the shoulder above the plane   [m]
LENGTHS = several(3, "three positive lengths", positive)  # a kind of argument


@remade
@checked(mass=positive, length=positive, friction=not_negative, gravity=number)
def rod(mass: float = 1.0, length: float = 1.0, friction: float = 1.0, gravity: float = 9.81) -> GeneralizedSystem:
    """A slender uniform rod whose foot may touch the plane z = 0: q = (x, y, z, θ, φ).

    (x, y, z) is the centre, θ the angle from the plane and φ the azimuth of the direction d from foot to centre. The
    axial spin of a slender rod has no inertia and is left out; the tangents of the contact are the world's x and y.
    """
    half, inertia = length / 2, mass * length**2 / 12

    def M(q):
        return np.diag([mass, mass, mass, inertia, inertia * cos(q[3]) ** 2])

    def bias(q, v):
        turning = inertia * sin(q[3]) * cos(q[3])
        return np.array([0.0, 0.0, mass * gravity, turning * v[4] ** 2, -2 * turning * v[3] * v[4]])

    def gap(q):
        return q[2] - half * sin(q[3])

    def rows(q):
        s, c, sin_φ, cos_φ = half * sin(q[3]), half * cos(q[3]), sin(q[4]), cos(q[4])
        return np.array([[0, 0, 1, -c, 0], [1, 0, 0, s * cos_φ, c * sin_φ], [0, 1, 0, s * sin_φ, -c * cos_φ]])

    def drift(q, v):
        s, c, sin_φ, cos_φ = half * sin(q[3]), half * cos(q[3]), sin(q[4]), cos(q[4])
        inward, across = c * (v[3] ** 2 + v[4] ** 2), 2 * s * v[3] * v[4]  # of the foot, along d and across it
        return np.array([s * v[3] ** 2, inward * cos_φ - across * sin_φ, inward * sin_φ + across * cos_φ])

    return GeneralizedSystem(5, M, bias, (ContactPoint(gap, rows, friction, drift=drift, name="foot"),), name="rod")


@remade
@checked(mass=positive, length=positive, friction=not_negative, gravity=number)
def planar_rod(
    mass: float = 1.0, length: float = 1.0, friction: float = 1.0, gravity: float = 9.81
) -> GeneralizedSystem:
    """The rod in the plane of x and z: q = (x, z, θ), rows n, t with the tangent x."""
    half = length / 2
    M = np.diag([mass, mass, mass * length**2 / 12])
    weight = np.array([0.0, mass * gravity, 0.0])

    def rows(q):
        return np.array([[0, 1, -half * cos(q[2])], [1, 0, half * sin(q[2])]])

    def drift(q, v):
        return half * v[2] ** 2 * np.array([sin(q[2]), cos(q[2])])

    foot = ContactPoint(lambda q: q[1] - half * sin(q[2]), rows, friction, drift=drift, name="foot")
    return GeneralizedSystem(3, lambda q: M, lambda q, v: weight, (foot,), name="planar rod")


def rod_on_its_foot(theta: float, length: float = 1.0) -> Vector:
    """q of `rod` with the foot at the origin, leaning towards +x."""
    return np.array([length / 2 * cos(theta), 0.0, length / 2 * sin(theta), theta, 0.0])


@remade
@checked(lengths=LENGTHS, height=positive, density=positive, friction=not_negative, gravity=number)
def arm(
    lengths: tuple[float, float, float] = ARM_LENGTHS,
    height: float = ARM_HEIGHT,
    density: float = 2.0,
    friction: float = 0.5,
    gravity: float = 9.81,
) -> GeneralizedSystem:
    """Three links in a vertical plane that turns about the shoulder's vertical axis: q = (θ₁, θ₂, θ₃, φ).

    θᵢ is the angle of link i below the horizontal, φ the turn of the plane. The tip P at the distance x from the axis
    may touch the plane z = 0; its tangents are against the turn (u = -x φ̇) and outwards (u = ẋ).
    `density` is the mass per length, kg/m.
    """
    L = np.array(lengths, float)
    beyond = L[::-1].cumsum()[::-1] - L  # length of the links after each
    first = density * L * (L / 2 + beyond)  # ∂/∂Lᵢ of the moment of mass about the axis
    B = np.zeros((3, 3))  # Mᵢⱼ = Bᵢⱼ cos(θᵢ - θⱼ), eq. (42)
    for i in range(3):
        B[i, i] = density * L[i] ** 2 * (L[i] / 3 + beyond[i])
        for j in range(i):
            B[i, j] = B[j, i] = L[j] * first[i]

    (B11, B12, B13), (_, B22, B23), (_, _, B33) = B.tolist()
    L1, L2, L3 = L.tolist()

    def M(q):
        θ1, θ2, θ3, _ = map(float, q)
        M12, M13, M23 = B12 * cos(θ1 - θ2), B13 * cos(θ1 - θ3), B23 * cos(θ2 - θ3)
        c1, c2, c3 = cos(θ1), cos(θ2), cos(θ3)
        across = B12 * c1 * c2 + B13 * c1 * c3 + B23 * c2 * c3
        I_φ = B11 * c1 * c1 + B22 * c2 * c2 + B33 * c3 * c3 + 2 * across  # (43)
        return np.array([[B11, M12, M13, 0.0], [M12, B22, M23, 0.0], [M13, M23, B33, 0.0], [0.0, 0.0, 0.0, I_φ]])

    def bias(q, v):
        θ, θ_rate, turn = q[:3], v[:3], v[3]
        centrifugal = (B * np.sin(θ[:, None] - θ)) @ θ_rate**2
        slope = -2 * np.sin(θ) * (B @ np.cos(θ))  # ∂I_φ/∂θ
        plane = centrifugal - slope * turn**2 / 2 - gravity * first * np.cos(θ)
        return np.append(plane, slope @ θ_rate * turn)

    def gap(q):
        return height - L1 * sin(q[0]) - L2 * sin(q[1]) - L3 * sin(q[2])

    def rows(q):
        θ1, θ2, θ3, _ = map(float, q)
        z1, z2, z3 = -L1 * cos(θ1), -L2 * cos(θ2), -L3 * cos(θ3)
        x1, x2, x3 = -L1 * sin(θ1), -L2 * sin(θ2), -L3 * sin(θ3)
        return np.array([[z1, z2, z3, 0.0], [0.0, 0.0, 0.0, z1 + z2 + z3], [x1, x2, x3, 0.0]])

    def drift(q, v):
        s, c = L * np.sin(q[:3]), L * np.cos(q[:3])
        return np.array([s @ v[:3] ** 2, s @ v[:3] * v[3], -c @ v[:3] ** 2])

    return GeneralizedSystem(4, M, bias, (ContactPoint(gap, rows, friction, drift=drift, name="tip"),), name="arm")


def arm_on_the_plane(
    x: float, theta3: float, lengths: tuple[float, float, float] = ARM_LENGTHS, height: float = ARM_HEIGHT
) -> Vector:
    """q of `arm` with its tip on the plane at the distance x and the last link at theta3, the elbow above (θ₁ < θ₂).

    NaN where the arm does not reach.
    """
    L1, L2, L3 = lengths
    out, down = x - L3 * cos(theta3), height - L3 * sin(theta3)  # from the shoulder to the wrist
    reach = math.hypot(out, down)
    towards = math.atan2(down, out)
    if not abs(L1 - L2) < reach < L1 + L2:
        return np.full(4, math.nan)
    at_shoulder = math.acos((L1**2 + reach**2 - L2**2) / (2 * L1 * reach))
    at_wrist = math.acos((L2**2 + reach**2 - L1**2) / (2 * L2 * reach))
    return np.array([towards - at_shoulder, towards + at_wrist, theta3, 0.0])


@remade
@checked(radius=positive, depth=positive, friction=not_negative, mass=positive, gravity=number)
def peg(
    radius: float = 1.0, depth: float = 4.0, friction: float = 0.3, mass: float = 1.0, gravity: float = 0.0
) -> GeneralizedSystem:
    """A peg of the given radius, as deep in a hole of the same size, in the plane: q = (x, z, φ) of the middle of its
    tip, small. The hole's axis is z, its mouth up.

    Its contacts are the two corners of its tip on the walls, and the two edges of the mouth on its sides. At most two
    of them act together, `PEG_STATES`: a hole has some clearance, however small. A force on it is (F_x, F_z, M), M
    about the middle of the tip, from x towards z.
    """

    def point(name: str, side: float, height: float) -> ContactPoint:
        rows = np.array([[-side, 0.0, side * height], [0.0, 1.0, side * radius]])
        return ContactPoint(lambda q: float(rows[0] @ q), lambda q: rows, friction, name=name)

    M = np.diag([mass, mass, mass * (depth**2 + radius**2) / 3])
    heights = (("tip", 0.0), ("mouth", depth))
    contacts = tuple(point(f"{at} {way}", s, z) for at, z in heights for way, s in (("left", -1.0), ("right", 1.0)))
    weight = np.array([0.0, mass * gravity, 0.0])
    return GeneralizedSystem(3, lambda q: M, lambda q, v: weight, contacts, name="peg")


PEG_STATES = ((0, 3), (1, 2), (0, 2), (1, 3))  # leaning to the left and to the right, along the left and the right wall
