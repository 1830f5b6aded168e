import numpy as np

from evichain.evidence.pool import Pool, most_rated
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings


def a_graph() -> Graph:
    return Graph.build(
        Ratings.from_arrays([1, 1, 1, 2, 2, 3], [7, 8, 9, 7, 8, 7], [5, 4, 3, 2, 1, 5])
    )


def test_prototypes_are_the_most_rated() -> None:
    graph = a_graph()
    assert most_rated(graph, Side.USER, 2) == [1, 2]
    assert most_rated(graph, Side.ITEM, 1) == [7]
    assert len(most_rated(graph, Side.ITEM, 99)) == 3


def test_equal_counts_are_settled_by_id_not_by_place() -> None:
    users = [f"u{i}" for i in range(20)]
    chosen = {
        tuple(most_rated(Graph.build(Ratings.from_arrays(order, order, [1] * 20)), Side.USER, 5))
        for order in (users, users[::-1])
    }
    assert len(chosen) == 1


def test_a_pool_knows_where_rows_cite_prototypes() -> None:
    graph = a_graph()
    pool = Pool.of(graph, ([1, "gone"], [7, 9]))
    items = pool.sides[Side.ITEM]
    rows = graph.rows[Side.USER]
    for user in range(3):
        positions = items.cited[items.cited_ptr[user] : items.cited_ptr[user + 1]]
        cited = graph.ids[Side.ITEM].values[rows.row(user)[0][positions]].to_list()
        assert set(cited) == {i for i, _ in graph.rated(Side.USER, user)} & {7, 9}
    assert pool.sides[Side.USER].count == 2
    assert np.count_nonzero(pool.sides[Side.USER].slot >= 0) == 1
