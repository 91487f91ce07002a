"""How parts become known by their names."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import pytest

from cnet.errors import SpecError
from cnet.parts.registry import Part, Registry
from cnet.prune import PRUNERS


class Colour(Part):
    """A kind of part for these tests."""

    name: str


class Red(Colour):
    """A part as it should be."""

    summary: ClassVar[str] = "Is red."
    source: ClassVar[str] = "a rainbow"
    name: Literal["red", "crimson"] = "red"
    depth: int = 1


@pytest.fixture
def colours() -> Registry[Colour]:
    """A registry whose own package has no parts of this kind."""
    return Registry("colour", "cnet.client")


def test_a_part_is_known_under_each_of_its_names(colours: Registry[Colour]) -> None:
    """``create`` makes it with the name that was asked for."""
    colours.register("red", "crimson")(Red)

    assert colours.names() == ("crimson", "red")
    assert colours.create("crimson", depth=3) == Red(name="crimson", depth=3)


def test_the_catalogue_row_has_the_parameters_without_the_name(colours: Registry[Colour]) -> None:
    """Summary, source, and a JSON Schema."""
    colours.register("red")(Red)

    [row] = colours.describe()

    assert (row["name"], row["summary"], row["source"]) == ("red", "Is red.", "a rainbow")
    assert list(row["parameters"]["properties"]) == ["depth"]


def test_an_unknown_name_is_refused_with_the_known_ones(colours: Registry[Colour]) -> None:
    """So that a typing mistake can be corrected at once."""
    colours.register("red")(Red)

    with pytest.raises(SpecError, match=r"^colour 'blue': this name is not known\. Use one of: red\.$"):
        colours.get("blue")


def test_a_name_that_is_taken_is_refused_with_both_classes(colours: Registry[Colour]) -> None:
    """The same class may be registered again, as a module that is imported twice does."""

    class Other(Red):
        """Another class of the same name."""

    colours.register("red")(Red)
    colours.register("red")(Red)

    with pytest.raises(ValueError, match=r"colour 'red': .*Other and .*Red both have this name\. Rename one"):
        colours.register("red")(Other)


def test_the_name_of_a_built_in_part_is_taken_before_the_built_in_part_is_imported() -> None:
    """Whoever comes from outside is told, whatever was imported first."""

    class Magnitude(PRUNERS.get("lamp")):  # type: ignore[misc] - a class that is found at run time
        """A pruner from elsewhere."""

        name: Literal["magnitude"] = "magnitude"

    with pytest.raises(ValueError, match=r"Magnitude and cnet\.prune\.magnitude\.\w+ both have this name"):
        PRUNERS.register("magnitude")(Magnitude)


@pytest.mark.parametrize(
    ("attributes", "advice"),
    [
        ({"source": "a rainbow"}, r"declares no summary\. Add the class attribute\."),
        ({}, r"declares no summary and no source\."),
        ({"summary": "Is blue.", "source": "a rainbow"}, r'Declare `name: Literal\["blue"\] = "blue"`\.'),
    ],
)
def test_a_part_that_lacks_what_every_part_declares_is_refused(
    colours: Registry[Colour], attributes: dict[str, Any], advice: str
) -> None:
    """The message says what to add."""
    with pytest.raises(ValueError, match=advice):
        colours.register("blue")(type("Blue", (Colour,), {"__module__": __name__, **attributes}))
