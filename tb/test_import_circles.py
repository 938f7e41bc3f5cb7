"""No module of a package imports itself by way of others, not even inside a function."""

import graphlib

import grimp
import pytest

#: The description is left out: its packets and their layouts know of each other.
PACKAGES = ("warploom", "warploom_golden", "warploom_sim", "warploom_loops", "warploom_host")


def circle(graph: grimp.ImportGraph, package: str) -> list[str]:
    """Return the modules of one circle of imports in a package; empty if there is none."""
    modules = {name for name in graph.modules if name.split(".")[0] == package}
    imports = {
        name: sorted(graph.find_modules_directly_imported_by(name) & modules) for name in modules
    }
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_itself_by_way_of_others(graph: grimp.ImportGraph, package: str) -> None:
    assert circle(graph, package) == []


def test_a_circle_is_found(graph: grimp.ImportGraph) -> None:
    one, other = "warploom_sim.replay.replay_rows", "warploom_sim.replay.replay_columns"
    assert graph.direct_import_exists(importer=other, imported=one)
    graph.add_import(importer=one, imported=other)
    try:
        assert {one, other} <= set(circle(graph, "warploom_sim"))
    finally:
        graph.remove_import(importer=one, imported=other)
