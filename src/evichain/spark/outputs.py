"""Output folders: existing contents are replaced only if Spark wrote them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Names = Callable[[str], "list[str] | None"]
"""The names in a folder: an empty list if it does not exist, None if it is not a folder."""

_WRITTEN = "_SUCCESS"


def is_ours(names: Names, folder: str) -> bool:
    """Whether a folder is empty or holds only what Spark wrote.

    >>> folders = {"a": ["part-0", "_SUCCESS"], "b": ["thesis.tex"], "c": ["users"]}
    >>> names = {**folders, "c/users": ["_SUCCESS"]}.get
    >>> [is_ours(names, folder) for folder in "abc"]
    [True, False, True]
    """
    found = names(folder)
    if found is None:
        return False
    if _WRITTEN in found:
        return all(name.lstrip(".").startswith(("part-", _WRITTEN)) for name in found)
    return all(name in ("users", "items") and is_ours(names, f"{folder}/{name}") for name in found)


def names_here(folder: str) -> list[str] | None:
    """The names in a local folder."""
    path = Path(folder)
    if not path.is_dir():
        return None if path.exists() else []
    return [entry.name for entry in path.iterdir()]


def names_anywhere(spark: "SparkSession") -> Names:
    """A function that lists any folder that Spark can write to."""
    context = spark.sparkContext
    assert context._jvm is not None

    hadoop = context._jvm.org.apache.hadoop.fs
    settings = context._jsc.hadoopConfiguration()

    def names(folder: str) -> list[str] | None:
        path = hadoop.Path(folder)
        system = path.getFileSystem(settings)
        if not system.exists(path):
            return []
        if not system.getFileStatus(path).isDirectory():
            return None
        return [entry.getPath().getName() for entry in system.listStatus(path)]

    return names
