"""The settings of the model's shape, which does not depend on the data."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ChainSettings(BaseModel):
    """The shape of prototypes and generators."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    prototype_users: int = Field(default=50, ge=0)
    """How many of the most rated users have a stored embedding."""
    prototype_items: int = Field(default=50, ge=0)
    """How many of the most rated items have a stored embedding."""
    generator: Literal["mean", "channels", "choices"] = "mean"
    """How evidence becomes an embedding: as the mean of a network's output for each piece (the
    paper), by channels that use the residuals of baselines, or by half-steps of implicit least
    squares, which learn what is chosen and not how it is rated."""
    shared_generators: bool = True
    """One generator per side for all depths; otherwise one for each depth."""
    embedding_size: int = Field(default=20, ge=1, le=4096)
    """K: the length of an embedding."""
    width: int = Field(default=200, ge=1, le=8192)
    """Neurons in each hidden layer of a generator."""
    hidden_layers: int = Field(default=2, ge=1, le=8)
    """Hidden layers of a mean generator; a linear layer follows them."""
    ridge_channel: bool = True
    """Channels: a ridge regression of the residuals on keys of the evidence."""
    key_size: int = Field(default=24, ge=1, le=256)
    """The length of a key: of the ridge channel, or of choices."""
    presence_channel: bool = True
    """Channels: sum values of the evidence regardless of the rating: which entities were rated."""
    channel_size: int = Field(default=16, ge=1, le=256)
    """Channels: the length of a value of the presence channel."""

    @property
    def prototype_counts(self) -> tuple[int, int]:
        """How many prototypes there are of each side, at most."""
        return self.prototype_users, self.prototype_items
