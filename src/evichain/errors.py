"""What a user can do wrong, said so that it can be put right."""


class EvichainError(Exception):
    """A mistake a user can mend.

    Args:
        what: what was wrong.
        where: the file, row, column or setting it was found in.
        right: what would be right.

    >>> print(EvichainError("no such column", where="a.csv", right="Name it user_id."))
    a.csv: no such column
    Name it user_id.
    """

    def __init__(self, what: str, *, where: str = "", right: str = "") -> None:
        self.what, self.where, self.right = what, where, right
        first = f"{where}: {what}" if where else what
        super().__init__(f"{first}\n{right}" if right else first)


class DataError(EvichainError):
    """A ratings file or table that cannot be used as it is."""


class DownloadError(EvichainError):
    """A data set that could not be fetched or did not verify."""


class SplitError(EvichainError):
    """A split that is misspelled or impossible for the data."""


class SettingsError(EvichainError):
    """A setting out of its range, unknown, or at odds with another."""


class UnknownEntityError(EvichainError):
    """A user or an item that the model has no ratings of."""


class ModelError(EvichainError):
    """A model directory that is missing, damaged or of another version."""


class NotFittedError(EvichainError):
    """A question put to a recommender before `fit` or `load`."""


class DistributedError(EvichainError):
    """A process of a data-parallel run has stopped, so the others cannot continue."""


class MachineError(EvichainError):
    """A machine that has too little of something, most likely memory, for what is asked of it."""


class StoreError(EvichainError):
    """A store of ratings that cannot be used: a wrong address, another version, no rights."""


class StoreUnavailableError(StoreError):
    """A store that cannot be reached or is busy; the same call may succeed later.

    A write that ends so may have happened or not. Putting it again is harmless.
    """


class StaleVersionError(StoreError):
    """A reader too far behind (or of another store): it has to start again from a snapshot."""


def with_extra(name: str) -> str:
    """What would be right where what comes with an extra is missing.

    >>> with_extra("tune")
    "Install evichain with its extra `tune`; in a clone: pip install '.[tune]'"
    """
    return f"Install evichain with its extra `{name}`; in a clone: pip install '.[{name}]'"
