"""Settings of the service."""

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
    """Keys, limits and timeouts."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, extra="forbid")

    keys: Annotated[Keys, BeforeValidator(_keys), PlainSerializer(_lines)] = Keys(())
    """The API keys. Without any, everyone who reaches the server may do everything."""
    hosts: frozenset[str] | None = None
    """The allowed `Host` names; None allows all."""
    max_body: Annotated[int, Field(ge=1)] = 1 << 20
    """The largest body of a request, in bytes."""
    rate: Annotated[float, Field(ge=0)] = 1000.0
    """Requests per second of one key, or of one address without keys; 0 for no limit."""
    burst: Annotated[float, Field(ge=1)] | None = None
    """Requests that may come at once; by default twice the rate."""
    in_progress: Annotated[int, Field(ge=1)] = 128
    """Requests at a time; further ones are refused."""
    threads: Annotated[int, Field(ge=1)] = 8
    """Threads for work with the store, and as many for slow work from memory."""
    exports: Annotated[int, Field(ge=1)] = 2
    """Exports at a time."""
    timeout: Annotated[float, Field(gt=0)] = 15.0
    """Seconds that such work may take before the request is answered with 503."""
    refresh_timeout: Annotated[float, Field(gt=0)] = 120.0
    """Seconds that a write may also wait for a refresh of the embeddings."""
    connection_timeout: Annotated[float, Field(gt=0)] = 10.0
    """Seconds to wait for a body, and for the client to read a part of an answer."""
    retry_after: Annotated[int, Field(ge=1)] = 1
    """The `Retry-After` of refused requests, in seconds."""
    strict: bool = False
    """Whether every write waits for a refresh of the embeddings."""
    feedback_rating: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """The rating of feedback without a value (gorse's API); the highest by default."""
    names: bool = False
    """Whether explanations show ids of other users to everyone, not only to write keys."""
    alias_secret: str = Field(default_factory=lambda: secrets.token_hex(16))
    """The secret of the aliases, the same in all workers of a server."""

    def check(self, scale: Scale) -> None:
        """Check the settings against the scale of a model.

        Raises:
            SettingsError: the feedback rating is off the scale, or the model is not of ratings.
        """
        if scale.interactions:
            raise SettingsError(
                "the model was trained on interactions, and the service answers from ratings",
                right="Lists for everyone: evichain recommend MODEL --everyone --out lists.parquet",
            )
        rating = self.feedback_rating
        if rating is not None and not scale.holds(rating):
            raise SettingsError(
                f"a feedback rating of {rating:g}",
                right=f"Ratings of this model go from {scale.low:g} to {scale.high:g}.",
            )
