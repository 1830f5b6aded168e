"""`evichain spark`: embeddings, predictions and lists in bulk, on a cluster or on all cores."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evichain.cli._errors import OptionError, OutputError
from evichain.cli._files import check_parent
from evichain.cli._options import Force, IncludeSeen, Json, Model, examples, group, with_options
from evichain.cli._output import note, print_json
from evichain.spark.outputs import is_ours, names_anywhere, names_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evichain.spark.outputs import Names
    from evichain.spark.rounds import Bulk

_HERE = "file://"
verb = group("Embeddings, predictions and lists in bulk, on Spark.")

Ratings = Annotated[
    str,
    typer.Argument(
        metavar="RATINGS", help="A path or URL of Parquet that Spark can read, or table:NAME."
    ),
]
Out = Annotated[str, typer.Option(metavar="PATH", help="The folder of Parquet to write.")]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="spark://host:7077, yarn, k8s://…; by default what spark-submit says, or all cores "
        "of this machine.",
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A setting of Spark; may be given again and again."),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="How many blocks each side is cut into; by default of a million ratings each.",
    ),
]
Blocking = Annotated[
    bool,
    typer.Option(
        "--cycle-blocking/--no-cycle-blocking",
        help="A model trained with cycle blocking can be used in bulk only without it.",
    ),
]


@dataclass(frozen=True)
class _Job:
    """The options that all three verbs share, and the steps they share."""

    model: Model
    ratings: Ratings
    out: Out
    master: Master = None
    conf: Conf = None
    blocks: Blocks = None
    cycle_blocking: Blocking = True
    force: Force = False
    json: Json = False

    def run(
        self, doing: str, made: "Callable[[Bulk], dict[str, DataFrame]]", pairs: str | None = None
    ) -> None:
        """Write the result of a bulk job, and print its size.

        Args:
            pairs: a second input, beside the ratings.
        """
        settings = _settings(self.conf or [])
        self._check_apart(pairs)
        output = self._output()
        from evichain.spark.addresses import check_parquet
        from evichain.spark.faults import check_installed, spark_explained

        check_parquet(self.ratings)
        check_installed()
        from evichain.spark.session import session
        from evichain.spark.shared import Shared

        shared = Shared.load(self.model, cycle_blocking=self.cycle_blocking)
        with session(self.master, settings) as spark:
            from evichain.spark.rounds import Bulk
            from evichain.spark.source import read_source
            from evichain.spark.watching import watching

            started, written = time.monotonic(), {}
            with (
                watching(spark, doing),
                spark_explained("Spark gave the job up"),
                closing(
                    Bulk.over(read_source(spark, self.ratings), shared, blocks=self.blocks)
                ) as bulk,
            ):
                if self.force:
                    self._check_ours(names_anywhere(spark), output)
                frames = made(bulk)
                for name, frame in frames.items():
                    folder = output if len(frames) == 1 else f"{output}/{name}"
                    mode = "overwrite" if self.force else "errorifexists"
                    frame.write.mode(mode).parquet(folder)
                    written[name] = spark.read.parquet(folder).count()
            seconds = round(time.monotonic() - started, 3)
        if self.json:
            counts = {"ratings": bulk.source.ratings, "blocks": bulk.blocks, **written}
            print_json({"written": self.out, **counts, "seconds": seconds})
        else:
            counted = ", ".join(f"{count:,} {name}" for name, count in written.items())
            note(f"{self.out}: {counted}, from {bulk.source.ratings:,} ratings")

    def _check_apart(self, pairs: str | None) -> None:
        """Refuse an output that overlaps an input, which would be deleted before it is read."""
        from evichain.spark.addresses import overlap

        for source in (self.ratings, pairs):
            if source is not None and overlap(self.out, source):
                raise OutputError(
                    f"overlaps {source}, which is an input",
                    where=self.out,
                    right="Give another name.",
                )

    def _output(self) -> str:
        """The output path for Spark; a local one is checked first."""
        local = self.out.removeprefix(_HERE)
        if "://" in local:
            return self.out.rstrip("/")
        path = Path(local).absolute()
        check_parent(path)
        if path.exists() and not self.force:
            right = "Give another name, or --force to replace it."
            raise OutputError("already exists", where=self.out, right=right)
        self._check_ours(names_here, str(path))
        return str(path)

    def _check_ours(self, names: "Names", output: str) -> None:
        if not is_ours(names, output):
            raise OutputError(
                "is a folder that Spark did not write, or no folder",
                where=self.out,
                right="Give another name, or remove it yourself.",
            )


def bulk_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options of a job, which arrives in its parameter `job`."""
    options = signature(_Job).parameters.values()
    return with_options(verb, "job", options, lambda given: _Job(**given))


@verb.command(
    epilog=examples(
        "evichain spark embed model ratings.parquet --out embeddings",
        "evichain spark embed model hdfs:///ratings --out hdfs:///embeddings --master yarn",
        "evichain spark embed model table:films.ratings --out embeddings --blocks 500",
    )
)
@bulk_options
def embed(job: _Job) -> None:
    """Write the embeddings of all users and items, as PATH/users and PATH/items."""

    def made(bulk: "Bulk") -> "dict[str, DataFrame]":
        from evichain.ratings.side import Side
        from evichain.spark.vectors import vectors

        return {f"{side.noun}s": vectors(bulk, side) for side in Side}

    job.run("Embedding", made)


@verb.command(
    epilog=examples(
        "evichain spark score model ratings.parquet --pairs pairs.parquet --out estimates"
    )
)
@bulk_options
def score(
    job: _Job,
    pairs: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="The pairs, user_id and item_id: Parquet, or table:NAME."
        ),
    ],
) -> None:
    """Predict what users would rate items, for a table of pairs."""
    from evichain.spark.addresses import check_parquet

    check_parquet(pairs, ratings=False)

    def made(bulk: "Bulk") -> "dict[str, DataFrame]":
        from evichain.spark.scores import scores
        from evichain.spark.source import read_pairs

        return {"predictions": scores(bulk, read_pairs(bulk.source.frame.sparkSession, pairs))}

    job.run("Scoring", made, pairs)


@verb.command(
    epilog=examples(
        "evichain spark recommend model ratings.parquet -n 20 --out lists",
        "evichain spark recommend model ratings.parquet --out lists --master spark://host:7077",
    )
)
@bulk_options
def recommend(
    job: _Job,
    n: Annotated[
        int, typer.Option("-n", "--count", metavar="N", min=1, help="How many items a user.")
    ] = 10,
    include_seen: IncludeSeen = False,
) -> None:
    """Write the best items for every user."""

    def made(bulk: "Bulk") -> "dict[str, DataFrame]":
        from evichain.spark.lists import lists

        return {"recommendations": lists(bulk, n, exclude_seen=not include_seen)}

    job.run("Listing", made)


def _settings(given: list[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            right = "It is NAME=VALUE, such as --conf spark.executor.memory=4g."
            raise OptionError(f"{text!r} is not a Spark setting", where="--conf", right=right)
        found[name] = value
    return found
