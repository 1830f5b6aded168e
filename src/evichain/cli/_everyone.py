"""Lists for every user of a model, into a file."""

from pathlib import Path

from evichain.cli._files import check_free, replacing
from evichain.cli._output import note, print_json
from evichain.tables import table_suffix, write_table


def list_everyone(
    model: Path,
    out: Path,
    n: int,
    exclude_seen: bool,
    caution: float,
    *,
    force: bool,
    json: bool,
) -> None:
    """Write rows of user_id, rank, item_id, title, estimate and std, list after list."""
    table_suffix(out)
    check_free(out, force=force)
    from evichain.recommender import REC

    loaded = REC.load(model)
    found = loaded.recommend_all(n=n, exclude_seen=exclude_seen, caution=caution, progress=True)
    with replacing(out, force=force) as beside:
        write_table(found, beside)
    users = found["user_id"].n_unique()
    if json:
        print_json({"written": out, "users": users, "recommendations": len(found)})
    else:
        note(f"{out}: lists of {n} for {users:,} users")
