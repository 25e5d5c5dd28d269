"""Runs lessons and writes into them what they print and draw.

    python training/lessons/run.py [LESSON …]

Without names, all of them. To be used after a change of a lesson: the tests demand that what a notebook shows
is what its code gives. All run in one process and without Jupyter, since a kernel for each would import
TensorFlow a dozen times.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
DPI = 80

Notebook = dict[str, Any]
Output = dict[str, Any]


def read(path: Path) -> Notebook:
    """A notebook as it stands in its file."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    """The cells that run, in their order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: Notebook, name: str) -> list[list[Output]]:
    """What each code cell prints and draws, in the form of the notebook's file.

    The cells share one namespace that begins empty. The working folder must be that of the lessons.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    return [
        _run_cell("".join(cell["source"]), f"{name}, cell {number}", names)
        for number, cell in enumerate(code_cells(notebook), start=1)
    ]


def _run_cell(code: str, place: str, names: dict[str, Any]) -> list[Output]:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            _execute(code, place, names)
        pictures = [_picture(plt.figure(number)) for number in plt.get_fignums()]
    finally:
        plt.close("all")
    text = printed.getvalue().splitlines(keepends=True)
    return [{"name": "stdout", "output_type": "stream", "text": text}] * bool(text) + pictures


def _execute(code: str, place: str, names: dict[str, Any]) -> None:
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), place, "eval"), names)
        if value is not None and not code.rstrip().endswith(";"):
            raise ValueError(
                f"{place}: a cell must not end with a value, which Jupyter would show; a semicolon hides it. "
                f"Received: {ast.unparse(last)}"
            )


def _picture(figure: Any) -> Output:
    png = io.BytesIO()
    # Without the program's version, so that an equal picture is an equal file.
    figure.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
    data = {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": ["<Figure>"]}
    return {"data": data, "metadata": {}, "output_type": "display_data"}


def write(notebook: Notebook, outputs: list[list[Output]], path: Path) -> None:
    """Writes a notebook with new outputs, as Jupyter would."""
    for number, (cell, found) in enumerate(zip(code_cells(notebook), outputs, strict=True), start=1):
        cell["execution_count"], cell["outputs"] = number, found
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(names: list[str]) -> None:
    paths = [Path(name).resolve() for name in names] or sorted(HERE.glob("*.ipynb"))
    matplotlib.use("agg")
    os.chdir(HERE)
    for path in paths:
        notebook = read(path)
        write(notebook, run(notebook, path.name), path)
        print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
