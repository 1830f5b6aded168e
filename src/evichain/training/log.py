"""The run's log: a JSON object a line, and TensorBoard's events where that is installed."""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evichain.errors import SettingsError


class RunLog:
    """Appends to `log.jsonl` in a run folder; on resuming, first drops what came after `step`."""

    def __init__(self, folder: Path, step: int = 0, *, tensorboard: bool = False) -> None:
        path = folder / "log.jsonl"
        kept = [line for line in _lines(path) if line["step"] <= step] if step else []
        self._file = path.open("w", encoding="utf-8")
        for line in kept:
            self.write(**line)
        self._board = _board(folder) if tensorboard else None

    def write(self, step: int, **values: float) -> None:
        """Note the values of a step."""
        self._file.write(json.dumps({"step": step, **values}) + "\n")
        if getattr(self, "_board", None) is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)  # type: ignore[union-attr]

    def flush(self) -> None:
        """Hand what was written to the system."""
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a log; a killed run may have left half a line at the end."""
    found = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return found


def _board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise SettingsError(
            "TensorBoard is not installed", right="pip install 'evichain[tensorboard]'"
        ) from error
    return SummaryWriter(str(folder / "tensorboard"))
