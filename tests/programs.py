"""Programs that tests need and a machine may not have."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


def place_of(name: str) -> Path:
    """Where a script of that name finds its program; skips the test where there is none.

    Where `CI` or `EVICHAIN_REQUIRE_<NAME>` is set, the test fails instead.
    """
    found = subprocess.run([SCRIPTS / f"{name}.sh"], capture_output=True, text=True)
    if found.returncode:
        required = os.environ.get("CI") or os.environ.get(f"EVICHAIN_REQUIRE_{name.upper()}")
        (pytest.fail if required else pytest.skip)(found.stderr.strip())
    return Path(found.stdout.strip())
