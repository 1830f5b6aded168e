"""What can be set about the service."""

import secrets
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from evichain.errors import SettingsError
from evichain.ratings.scale import Scale
from evichain.service.http.keys import Key, Keys


def _keys(value: object) -> object:
    return Keys(map(Key.parse, value)) if isinstance(value, list | tuple) else value


def _lines(keys: Keys) -> list[str]:
    return [key.line for key in keys]


class ServiceSettings(BaseModel):
    """Keys, limits and patience."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, extra="forbid")

    keys: Annotated[Keys, BeforeValidator(_keys), PlainSerializer(_lines)] = Keys(())
    """Who may ask. Without any, everyone who reaches the server may do everything."""
    hosts: frozenset[str] | None = None
    """Names that requests have to be addressed to; None takes all."""
    max_body: Annotated[int, Field(ge=1)] = 1 << 20
    """Bytes of a request's body."""
    rate: Annotated[float, Field(ge=0)] = 1000.0
    """Requests a second of one key, or without keys of one address; 0 sets no limit."""
    burst: Annotated[float, Field(ge=1)] | None = None
    """Requests that may come at once; twice the rate by default."""
    in_progress: Annotated[int, Field(ge=1)] = 128
    """Requests being answered or waiting to be; what comes on top is sent away."""
    threads: Annotated[int, Field(ge=1)] = 8
    """Threads for what needs the store, and as many for what comes from memory and takes long."""
    exports: Annotated[int, Field(ge=1)] = 2
    """Exports at a time."""
    timeout: Annotated[float, Field(gt=0)] = 15.0
    """Seconds that such work may take before the asker is told to come again."""
    refresh_timeout: Annotated[float, Field(gt=0)] = 120.0
    """Seconds that a write may wait, on top, for everyone's embedding to be as it makes it."""
    connection_timeout: Annotated[float, Field(gt=0)] = 10.0
    """Seconds to wait for the rest of a request, and for the asker to take an answer."""
    retry_after: Annotated[int, Field(ge=1)] = 1
    """Seconds after which those who were sent away may come again."""
    strict: bool = False
    """Whether a write is answered only when everyone's embedding is as it makes it."""
    feedback_rating: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """The rating that feedback without a value stands for (gorse's API); the best by default."""
    names: bool = False
    """Whether explanations name other users to everyone; else only to keys that may write."""
    alias_secret: str = Field(default_factory=lambda: secrets.token_hex(16))
    """What aliases are made from: all workers of a server have the same."""

    def check(self, scale: Scale) -> None:
        """See that they fit the scale of a model.

        Raises:
            SettingsError: they do not.
        """
        rating = self.feedback_rating
        if rating is not None and not scale.holds(rating):
            raise SettingsError(
                f"a feedback rating of {rating:g}",
                right=f"Ratings of this model go from {scale.low:g} to {scale.high:g}.",
            )
