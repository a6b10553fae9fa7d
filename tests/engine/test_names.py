"""Formulations and solvers by their names."""

import pytest

from stickslip.engine.names import FORMULATIONS, formulation, read_formulation, solver_named
from stickslip.errors import InputError
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.impact import Newton, Poisson
from stickslip.friction.phantom import Phantom
from stickslip.friction.stabilisation import Gap, Relaxation
from stickslip.friction.stewart_trinkle import StewartTrinkle
from stickslip.solvers.nsgs import NSGS

pytestmark = pytest.mark.core


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_name_alone_is_the_default(name):
    assert formulation(name) == FORMULATIONS[name]()
    assert read_formulation(name) == FORMULATIONS[name]()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("phantom:inertia=2.5:directions=4", Phantom(inertia=2.5, directions=4)),
        ("phantom:lateral=false", Phantom(lateral=False)),
        ("stewart_trinkle:directions=16:stabilisation=none", StewartTrinkle(directions=16, stabilisation=None)),
        ("stewart_trinkle:recovery=0.2", StewartTrinkle(stabilisation=Gap(0.2))),
        ("coulomb:stabilisation=gap", Coulomb()),
        ("coulomb:brake=0.5", Coulomb(Gap(0.2, brake=0.5))),
        ("coulomb:stabilisation=relaxation:stiffness=1e6", Coulomb(Relaxation(stiffness=1e6))),
        ("phantom:stabilisation=gap:recovery=0.5", Phantom(stabilisation=Gap(0.5))),
        ("box:impact=poisson:rest_speed=0.1", FORMULATIONS["box"](impact=Poisson(0.1))),
        ("box:rest_speed=0.1", FORMULATIONS["box"](impact=Newton(0.1))),
        ("hybrid : slip_speed = 1e-4", FORMULATIONS["hybrid"](slip_speed=1e-4)),
    ],
)
def test_settings_are_those_of_the_class_and_of_its_parts(text, value):
    assert read_formulation(text) == value


def test_parts_may_be_values():
    assert formulation("coulomb", stabilisation=Relaxation(damping=3.0)) == Coulomb(Relaxation(damping=3.0))


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("honey", {}, "friction is 'honey', expected one of coulomb, phantom, hybrid, box"),
        (
            "box",
            {"inertia": 1.0},
            "box: inertia is 1.0, expected one of the settings stabilisation, impact",
        ),
        ("phantom", {"recovery": 0.2}, "phantom: recovery is 0.2, expected one of the settings inertia"),
        ("phantom", {"inertia": "much"}, "phantom: inertia is 'much', expected a number"),
        ("phantom", {"inertia": True}, "phantom: inertia is True, expected a number"),
        ("phantom", {"lateral": 1}, "phantom: lateral is 1, expected true or false"),
        ("stewart_trinkle", {"directions": 4.0}, "stewart_trinkle: directions is 4.0, expected a whole number"),
        (
            "stewart_trinkle",
            {"directions": 2},
            "StewartTrinkle: directions is 2, expected a whole number of at",
        ),
        (
            "coulomb",
            {"stabilisation": "glue"},
            "coulomb: stabilisation is 'glue', expected one of gap, relaxation",
        ),
        ("coulomb", {"stabilisation": 0.2}, "Coulomb: stabilisation is 0.2, expected Gap"),
        ("compliant_cone", {"stabilisation": None}, "CompliantCone: stabilisation is None, expected Relaxation"),
        ("coulomb", {"impact": None}, "coulomb: impact is None, expected one of newton, poisson"),
    ],
)
def test_what_is_not_there_is_refused_in_one_sentence(name, settings, sentence):
    with pytest.raises(InputError) as error:
        formulation(name, **settings)
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)


def test_solvers():
    assert solver_named("lemke", {}) == "lemke"
    assert solver_named("nsgs", {"max_iter": 7}) == NSGS(max_iter=7)
    with pytest.raises(InputError, match=r"nsgs: max_iter is 'many', expected a whole number"):
        solver_named("nsgs", {"max_iter": "many"})
    with pytest.raises(InputError, match=r"nsgs: depth is 3, expected one of the settings tol"):
        solver_named("nsgs", {"depth": 3})
    with pytest.raises(InputError, match="method is 'magic'"):
        solver_named("magic", {"tol": 1.0})
