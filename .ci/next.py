#!/usr/bin/env python3
"""Runs the tests against versions of TensorFlow and Keras that the package does not allow yet.

The upper bounds of `pyproject.toml` are lifted in a copy of the tracked files, and `pip install --pre` takes
what there is. Where that is nothing beyond the bounds, there is nothing to find out, and it ends well.
Otherwise it ends as the tests do: red says what the next version will break, and stops nobody.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BOUND = re.compile(r'(?<=")([A-Za-z0-9._-]+)(\[[^\]]*\])?(>=[^",]+),<([^",]+)(?=")')


def lifted(text: str) -> tuple[str, dict[str, str]]:
    """The settings without the upper bounds on TensorFlow and Keras, and those bounds by package."""
    bounds: dict[str, str] = {}

    def without(found: re.Match[str]) -> str:
        name, extras, lower, upper = found.groups()
        if not name.startswith(("tensorflow", "keras")):
            return found[0]
        bounds[name] = upper
        return f"{name}{extras or ''}{lower}"

    return _BOUND.sub(without, text), bounds


def beyond(installed: dict[str, str], bounds: dict[str, str]) -> list[str]:
    """The packages that are beyond their bounds, each with its version."""
    return [
        f"{name} {installed[name]}"
        for name, bound in sorted(bounds.items())
        if name in installed and _numbers(installed[name]) >= _numbers(bound)
    ]


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:2]]


def main() -> int:
    """Installs, says what is new, and runs the tests."""
    with tempfile.TemporaryDirectory() as scratch:
        clone, environment = Path(scratch, "clone"), Path(scratch, "environment")
        clone.mkdir()
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        archive = subprocess.run(
            ["tar", "--null", "-T", "-", "-cf", "-"], cwd=ROOT, input=names, capture_output=True, check=True
        ).stdout
        subprocess.run(["tar", "-xf", "-", "-C", clone], input=archive, check=True)
        settings = clone / "pyproject.toml"
        text, bounds = lifted(settings.read_text(encoding="utf-8"))
        settings.write_text(text, encoding="utf-8")
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", "--pre", ".[test]"], cwd=clone, check=True)
        listed = subprocess.run([*pip, "list", "--format", "json"], capture_output=True, check=True).stdout
        installed = {each["name"].lower(): each["version"] for each in json.loads(listed)}
        found = beyond(installed, bounds)
        print(
            f"{time.strftime('%Y-%m-%d')}: {', '.join(found) or 'nothing beyond the bounds yet'}", flush=True
        )
        if not found:
            return 0
        quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
        return subprocess.run([python, "-m", "pytest"], cwd=clone, env=quiet, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
