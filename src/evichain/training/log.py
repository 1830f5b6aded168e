"""The run's log: one JSON object per line, and TensorBoard events on request."""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evichain.errors import SettingsError, with_extra


class RunLog:
    """Appends to `log.jsonl` in a run folder; on resuming, first drops the lines after `step`."""

    def __init__(self, folder: Path, step: int = 0, *, tensorboard: bool = False) -> None:
        self._board = _board(folder) if tensorboard else None
        path = folder / "log.jsonl"
        kept = [line for line in _lines(path) if line["step"] <= step] if step else []
        beside = path.with_suffix(".partial")
        beside.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        beside.replace(path)
        # By line, so that a run can be followed with `tail -f`.
        self._file = path.open("a", encoding="utf-8", buffering=1)

    def write(self, step: int, **values: float) -> None:
        """Write the values of a step."""
        self._file.write(json.dumps({"step": step, **values}) + "\n")
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)

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
    """The complete lines of a log; a killed run may have left a partial last line."""
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
            "TensorBoard is not installed", right=with_extra("tensorboard")
        ) from error
    return SummaryWriter(str(folder / "tensorboard"))
