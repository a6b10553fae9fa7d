"""The picture of a pile: seen from where it is said, written whole or not at all."""

import numpy as np
import pytest

from stickslip.errors import FileError
from stickslip.problems.mechanical import pile_positions, sphere_pile
from stickslip.solvers.nsgs import NSGS
from stickslip.view.figures import check_path, force_chains, project


def test_projection_is_a_rotation():
    basis = project(np.eye(3))
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(basis) == pytest.approx(1.0)
    assert project(np.array([[0.0, 0.0, 1.0]]))[0, 1] > 0  # z is up on paper


@pytest.fixture(scope="module")
def pile():
    problem = sphere_pile(2, mu=0.3)
    return problem, *pile_positions(2), NSGS().solve(problem).require()


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_the_picture_has_the_format_of_its_name(pile, tmp_path, suffix, start):
    path = tmp_path / f"pile.{suffix}"
    force_chains(*pile, path, radius=0.05)
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]  # nothing half-written beside it


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("pile.gif", "expected .png, .pdf or .svg"),
        ("absent/pile.png", "there is no folder"),
        ("folder.png", "a folder"),
    ],
)
def test_a_path_that_cannot_be_written(tmp_path, name, sentence):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(FileError, match=sentence):
        check_path(tmp_path / name)
