"""What is said and drawn in a notebook, by a real kernel: `make test-slow` installs one."""

import pytest

SIMULATE = """
import furthest as ft
instance, strategy = ft.hard(), ft.Strategy("uniform", stopping="glr")
ft.simulate(instance.problem, instance.mu, strategy, runs=2)
"""


@pytest.mark.slow
def test_it_is_said_once_and_drawn_once(own_cache):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("ipywidgets")
    cells = [nbformat.v4.new_code_cell(SIMULATE) for _ in range(2)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    first, second = ([dict(each) for each in cell.outputs] for cell in notebook.cells)
    said = [each["text"] for each in first if each["output_type"] == "stream"]
    assert said == ["compiling uniform with glr mixture for this machine, once: some seconds\n"]
    drawn = [each for each in first if "widget-view" in str(each.get("data"))]
    assert len(drawn) == 1
    assert [each["output_type"] for each in second] == ["execute_result"]
    assert "2 runs of uniform" in second[0]["data"]["text/plain"]
