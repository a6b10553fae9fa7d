"""Bodies held together by joints, against a dense solve of the same system."""

import numpy as np
import pytest
from jointed_scenes import four_bar, tree_scene

import stickslip as ss
from stickslip.dynamics.articulated import half_substitute, substitute
from stickslip.dynamics.held import articulate, held_by
from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Kind

pytestmark = pytest.mark.core
H = 0.01


def factorised(scene):
    model, state, _ = compile_scene(scene)
    held = held_by(model)
    articulate(held, state, H)
    return model, state, held


def dense_system(model, held):
    """M over the bodies that joints hold, G and Σ over the rows without bounds, and the numbers of both."""
    rows = held.rows
    free, rigid = np.flatnonzero(held.tree.node >= 0), np.flatnonzero(np.isinf(rows.lower))
    M, G = np.zeros((6 * free.size, 6 * free.size)), np.zeros((rigid.size, model.kind.size, 6))
    for k, b in enumerate(free):
        M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = held.mass[b]
    for k, i in enumerate(rigid):
        G[k, rows.body_a[i]] += rows.jacobian_a[i]
        G[k, rows.body_b[i]] += rows.jacobian_b[i]
    return M, G[:, free].reshape(rigid.size, -1), np.diag(rows.compliance[rigid]), free, rigid


def solved(held, f, b):
    """v (nb, 6) and λ of all groups by substitution, for f (nb, 6) and b by row."""
    tree, x = held.tree, held.factors.x
    v, impulse = np.zeros_like(f), np.zeros_like(b)
    for k in range(tree.size.size):
        x[k] = 0.0
        x[k, : tree.size[k]] = f[tree.body[k]] if tree.body[k] >= 0 else b[rows_at(tree, k)]
    for group in range(tree.group_start.size - 1):
        substitute(tree, held.factors, group)
    for k in range(tree.size.size):
        if tree.body[k] >= 0:
            v[tree.body[k]] = x[k]
        else:
            impulse[rows_at(tree, k)] = x[k, : tree.size[k]]
    return v, impulse


def rows_at(tree, k):
    return slice(tree.first_row[k], tree.first_row[k] + tree.size[k])


def right_side(model, held, seed=0):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(model.kind.size, 6)) * (model.kind == Kind.FREE)[:, None]
    f[:, 3:] *= (np.abs(model.inverse_inertia).sum(axis=(1, 2)) > 0)[:, None]
    return f, rng.normal(size=held.wanted.size) * np.isinf(held.rows.lower)


MECHANISMS = {
    "one body": ([-1], ()),
    "chain": ([-1, 0, 1, 2, 3], ()),
    "chain of free bodies": ([None, 0, 1, 2], ()),
    "star": ([None, 0, 0, 0, 0], ()),
    "star on the world": ([-1, 0, 0, 0], ()),
    "tree": ([-1, 0, 0, 1, 1, 2, 5], ()),
    "several groups": ([-1, 0, None, 2, 2, None, -1], ()),
    "loop": ([-1, 0, 1, 2], ((3, -1),)),
    "free loop": ([None, 0, 1, 2, 3], ((4, 0),)),
    "two loops": ([-1, 0, 1, 2, 1, 4], ((3, -1), (5, 3))),
}


@pytest.mark.parametrize("name", list(MECHANISMS))
@pytest.mark.parametrize("seed", range(3))
def test_it_solves_the_dense_system(name, seed):
    """[[M, -Gᵀ], [-G, -Σ]] (v, λ) = (f, b), with ball joints in loops so that no row is too many."""
    parents, loops = MECHANISMS[name]
    kinds = ("add_ball",) if loops else ("add_ball", "add_hinge", "add_fixed", "add_slider")
    model, _, held = factorised(tree_scene(parents, np.random.default_rng(seed), kinds, loops))
    M, G, compliance, free, rigid = dense_system(model, held)
    f, b = right_side(model, held, seed)
    expected = np.linalg.solve(np.block([[M, -G.T], [-G, -compliance]]), np.concatenate([f[free].ravel(), b[rigid]]))
    v, impulse = solved(held, f, b)
    np.testing.assert_allclose(np.concatenate([v[free].ravel(), impulse[rigid]]), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_compliant_joints_have_their_compliance(seed):
    rng = np.random.default_rng(seed)
    scene = ss.Scene(gravity=(0, 0, 0))
    before = None
    for i in range(4):
        body = scene.add_body(mass=1.0 + i, inertia=tuple(rng.uniform(0.5, 0.9, 3)), position=tuple(rng.normal(size=3)))
        scene.add_fixed(body, before, position=tuple(rng.normal(size=3)), compliance=1e-3 if i % 2 else 0.0)
        before = body
    model, _, held = factorised(scene)
    M, G, compliance, free, rigid = dense_system(model, held)
    assert (np.diag(compliance) > 0).sum() == 12
    f, b = right_side(model, held, seed)
    expected = np.linalg.solve(np.block([[M, -G.T], [-G, -compliance]]), np.concatenate([f[free].ravel(), b[rigid]]))
    v, impulse = solved(held, f, b)
    np.testing.assert_allclose(np.concatenate([v[free].ravel(), impulse[rigid]]), expected, atol=1e-9)


def test_particles_on_ball_joints():
    """They have no inertia, so they come before their joints only together with the body at the other end."""
    scene = ss.Scene(gravity=(0, 0, 0))
    box = scene.add_box(size=(0.3, 0.2, 0.1), mass=2.0)
    for i in range(3):
        bead = scene.add_particle(mass=0.5 + i, position=(1.0 + i, 0.3 * i, 0.2))
        scene.add_ball(bead, box, position=(1.0 + i, 0.3 * i, 0.2))
    scene.add_ball(scene.add_particle(mass=1.0, position=(0, 3, 0)), position=(0, 3, 0))
    model, _, held = factorised(scene)
    M, G, _, free, rigid = dense_system(model, held)
    f, b = right_side(model, held)
    moves = np.diag(M) > 0
    A = np.block([[M[np.ix_(moves, moves)], -G[:, moves].T], [-G[:, moves], np.zeros((rigid.size, rigid.size))]])
    expected = np.linalg.solve(A, np.concatenate([f[free].ravel()[moves], b[rigid]]))
    v, impulse = solved(held, f, b)
    np.testing.assert_allclose(v[free].ravel()[moves], expected[: moves.sum()], atol=1e-10)
    np.testing.assert_allclose(v[free].ravel()[~moves], 0.0, atol=1e-15)
    np.testing.assert_allclose(impulse[rigid], expected[moves.sum() :], atol=1e-10)


def test_redundant_loops_give_the_right_velocity():
    """The hinges of a planar four-bar linkage have three rows too many; v is that of the least-squares multipliers."""
    model, _, held = factorised(four_bar())
    M, G, _, free, rigid = dense_system(model, held)
    assert np.linalg.matrix_rank(G, tol=1e-10) == rigid.size - 3 == 17
    f, _ = right_side(model, held)
    inverse = np.linalg.inv(M)
    multipliers = np.linalg.lstsq(G @ inverse @ G.T, -G @ inverse @ f[free].ravel(), rcond=1e-10)[0]
    v, impulse = solved(held, f, np.zeros(held.wanted.size))
    np.testing.assert_allclose(v[free].ravel(), inverse @ (f[free].ravel() + G.T @ multipliers), atol=1e-10)
    np.testing.assert_allclose(G @ v[free].ravel(), 0.0, atol=1e-12)
    np.testing.assert_allclose(M @ v[free].ravel(), f[free].ravel() + G.T @ impulse[rigid], atol=1e-10)


def test_half_of_a_substitution_gives_the_response():
    """J A⁻¹ Jᵀ = G D Gᵀ between rows on one body or two, in trees and with loops, and nothing is left behind."""
    for scene in (tree_scene([-1, 0, 1, 1, 3], np.random.default_rng(7)), four_bar()):
        model, _, held = factorised(scene)
        tree, free = held.tree, np.flatnonzero(model.kind == Kind.FREE)
        pairs = [(a, b) for a in free for b in free if a <= b]
        rows, halves = [], []
        for a, b in pairs:
            f = np.zeros((model.kind.size, 6))
            f[a] += np.arange(1.0, 7.0)
            f[b] += np.arange(6.0, 0.0, -1.0)
            rows.append(f)
            halves.append(half(held, f, tree.node[a], tree.node[b]))
        sign = np.where(tree.body < 0, -1.0, 1.0)
        for f, one in zip(rows, halves, strict=True):
            v, _ = solved(held, f, np.zeros(held.wanted.size))
            expected = [np.sum(g * v) for g in rows]
            response = [np.einsum("k,kr,kr", sign, one, other) for other in halves]
            np.testing.assert_allclose(response, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


def half(held, f, i, j):
    """G (nodes, 6) of a row on the bodies of two nodes."""
    tree, x = held.tree, held.factors.rows[0]
    x[:] = 0.0
    for k in {int(i), int(j)}:
        x[k] = f[tree.body[k]]
    place, G = np.full(tree.size.size, -1), np.zeros((tree.size.size, 1, 6))
    count = half_substitute(tree, held.factors, 0, i, j, 1, 100, 0, place, G)
    assert count <= tree.path[i] + tree.path[j]
    assert not x.any()
    whole = np.zeros((tree.size.size, 6))
    whole[place[:count] - 100] = G[:count, 0]
    return whole


def test_a_tree_fills_nothing():
    """As many blocks below the pivots as there are ends of joints at free bodies, and nothing to subtract them from."""
    for parents in ([-1, *range(20)], [None, *[0] * 20], [-1, 0, 0, 1, 1, 2, 2]):
        _, _, held = factorised(tree_scene(parents, np.random.default_rng(0)))
        ends = sum((parent is not None) + (parent is not None and parent >= 0) for parent in parents)
        assert held.tree.row.size == ends


def test_groups_are_bodies_that_hang_together_by_what_moves():
    """Not by the world, and a body without joints is in none."""
    _, _, held = factorised(tree_scene([-1, 0, None, 2, -1, None], np.random.default_rng(0)))
    group = held.tree.group
    assert group[0] == group[1]
    assert group[2] == group[3]
    assert len({group[0], group[2], group[4]}) == 3
    assert group[5] == -1
    np.testing.assert_array_equal(np.sort(np.bincount(group[group >= 0])), [1, 2, 2])
