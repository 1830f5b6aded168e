"""How the model is trained."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class TrainingSettings(BaseModel):
    """Loss, optimizer, evidence drawn for training, and when to stop."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    iterations: int = Field(default=2000, ge=0)
    """Steps of the main phase, at most."""
    batch_size: int = Field(default=1000, ge=1)
    """Ratings in a step, at most."""
    batch_share: float = Field(default=1.0, gt=0, le=1)
    """The part of all ratings in a step, at most."""
    ratings_per_user: int = Field(default=1, ge=1)
    """How many ratings of a user a step takes together, so that fewer users have to be generated
    for as many ratings."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Adam's step size."""
    annealing: bool = True
    """Lower the step size along half a cosine, to 0 at the last step."""
    warmup: int = Field(default=0, ge=0)
    """Steps over which the step size grows to its full value."""
    gradient_limit: float = Field(default=0.0, ge=0)
    """The largest gradient norm; longer gradients are scaled down to it. 0 for no limit."""
    averaging: float = Field(default=0.0, ge=0, lt=1)
    """The decay of the running average of weights, which becomes the model. 0 for the weights
    of the last step."""
    regularization: float = Field(default=1e-5, ge=0)
    """Lambda: the weight of the squared norm of all parameters in the loss."""
    pretrain_iterations: int = Field(default=500, ge=0)
    """Steps of plain matrix factorization on the block of prototypes, before the main phase."""
    centring: bool = True
    """Initialize each generator at the mean of its side's pretrained prototypes."""
    redraw_evidence: bool = True
    """Draw new evidence at each step; otherwise use the stable choice used for serving."""
    hide_targets: bool = False
    """Hide a batch's own ratings from all evidence, so that no target helps predict itself."""
    evidence_dropout: float = Field(default=0.0, ge=0, lt=1)
    """The largest share of ratings hidden from the evidence of a step; drawn at each step."""
    entity_sample: int = Field(default=0, ge=0)
    """How many users, and how many items, may be evidence in a step besides the prototypes; drawn
    at each step. Bounds the cost of a step on any data. 0 for all of them."""
    cold_start_share: float = Field(default=0.0, ge=0, le=1)
    """The share of a batch's users, and of its items, that are truncated to a few ratings, to
    simulate cold start."""
    unknown_share: float = Field(default=0.0, ge=0, le=0.5)
    """The share of a batch in which the user or the item is taken as unknown, so that generators
    with a prior learn it."""
    unchosen_weight: float | None = Field(default=None, gt=0)
    """Choices: the weight of an item that was not chosen, beside 1 for a chosen one. By default,
    this and the next three settings are chosen on validation lists."""
    choice_ridge: float | None = Field(default=None, gt=0)
    """Choices: the penalty of keys, as a share of the weight of all that was not chosen."""
    user_discount: float | None = Field(default=None, ge=0, le=2)
    """Choices: the power of the number of their choices by which users weigh less as evidence."""
    item_discount: float | None = Field(default=None, ge=0, le=2)
    """Choices: the power of the number of their choices by which items weigh less as evidence."""
    liked_from: float | None = None
    """Choices: the lowest rating that counts as a choice; the mean rating by default."""
    disliked_confidence: float = Field(default=0.0, ge=0, le=1)
    """Choices: how much a lower rating counts as a choice against the item."""
    validation: float = Field(default=0.0, ge=0, lt=1)
    """The part of the training ratings held out for validation and early stopping; of choices,
    the part of the users."""
    validate_every: int = Field(default=50, ge=1)
    """Steps between two validations."""
    patience: int = Field(default=0, ge=0)
    """Validations without an improvement after which training stops and the best state is kept;
    0 trains to the end and keeps the last state."""
    checkpoint_every: int = Field(default=200, ge=1)
    """Steps between two checkpoints, if there is a run folder."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Everything random is drawn from it."""

    @model_validator(mode="after")
    def _patience_has_something_to_watch(self) -> Self:
        if self.patience and not self.validation:
            raise ValueError(
                "patience needs validation ratings to watch; set validation, 0.05 for example"
            )
        return self
