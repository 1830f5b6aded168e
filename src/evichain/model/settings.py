"""How large the model is. None of it depends on the data."""

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
    embedding_size: int = Field(default=20, ge=1, le=4096)
    """K: the length of an embedding."""
    width: int = Field(default=200, ge=1, le=8192)
    """Neurons in each hidden layer of a generator."""
    hidden_layers: int = Field(default=2, ge=1, le=8)
    """Hidden layers of a generator; a linear layer follows them."""
