"""What can be set about the service."""

from pydantic import BaseModel, ConfigDict, Field

from evichain.service.http.keys import Keys


class Settings(BaseModel):
    """Keys, limits and patience."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, extra="forbid")

    keys: Keys = Keys(())
    """Who may ask. Without any, everyone who reaches the server may do everything."""
    hosts: frozenset[str] | None = None
    """Names that requests have to be addressed to; None takes all."""
    max_body: int = Field(1 << 20, ge=1)
    """Bytes of a request's body."""
    rate: float = Field(1000.0, ge=0)
    """Requests a second of one key, or without keys of one address; 0 sets no limit."""
    burst: float | None = Field(None, ge=1)
    """Requests that may come at once on top of that; twice the rate by default."""
    in_progress: int = Field(128, ge=1)
    """Requests being answered or waiting to be; what comes on top is sent away."""
    threads: int = Field(8, ge=1)
    """Threads for what takes long: writes and explanations."""
    exports: int = Field(2, ge=1)
    """Exports at a time."""
    timeout: float = Field(15.0, gt=0)
    """Seconds that such work may take before the asker is told to come again."""
    patience: float = Field(10.0, gt=0)
    """Seconds to wait for the rest of a request, and for the asker to take an answer."""
    retry_after: int = Field(1, ge=1)
    """Seconds after which those who were sent away may come again."""
    feedback_rating: float | None = None
    """The rating that feedback without a value stands for (gorse's API); the best by default."""
