"""The demonstration: what examples/demo.sh asks for can be done, and done again."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

DEMO = Path(__file__).parents[2] / "examples" / "demo.sh"
# Instead of a process for each command: note it, and answer the one that is listened to.
NOTING = """#!/bin/sh
printf '%s ' "$PWD" "$@" >> "$NOTED"
echo >> "$NOTED"
case "$*" in *--json*) echo '{"recommendations": [{"item": 105}]}' ;; esac
"""


def test_the_demonstration_runs_from_any_folder_and_twice(
    run: Callable[..., Result],
    data: Path,
    small: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project, binaries, noted = (tmp_path / name for name in ("project", "bin", "noted"))
    for folder in (project / "examples", binaries):
        folder.mkdir(parents=True)
    script = shutil.copy(DEMO, project / "examples")
    for name, content in (
        ("evichain", NOTING),
        ("python", f'#!/bin/sh\nexec {sys.executable} "$@"\n'),
    ):
        (binaries / name).write_text(content)
        (binaries / name).chmod(0o755)
    chosen = {"BIN": str(binaries), "DATA": str(data), "NOTED": str(noted), "WHO": "13"}
    environment = {**os.environ, **chosen, "ITERATIONS": "1"}
    subprocess.run(["bash", script], cwd=tmp_path, env=environment, check=True)
    monkeypatch.chdir(project)
    commands = [shlex.split(line) for line in noted.read_text().splitlines()]
    assert {Path(folder) for folder, *_ in commands} == {project}
    for _, *arguments in commands * 2:
        if arguments[:2] == ["data", "fetch"]:
            continue
        if arguments[0] == "train":
            arguments += small[2:]  # all but the iterations, which the script sets
        result = run(*arguments)
        assert result.exit_code == 0, (arguments, result.output)
    assert {path.name for path in (project / "runs").iterdir()} == {"demo", "demo.svg"}
