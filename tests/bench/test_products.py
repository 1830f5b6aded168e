from tests.bench.counted import Products

from evichain.bench.products import ratio, seconds_of_products


def test_the_products_asked_for_are_those_that_are_timed() -> None:
    shapes = [(2, 3, 5), (7, 1, 4)]
    with Products() as forward:
        assert seconds_of_products(shapes, backward=False) > 0
    assert forward.shapes == shapes
    with Products() as both:
        seconds_of_products(shapes, backward=True)
    assert both.shapes == [(2, 3, 5), (2, 5, 3), (3, 2, 5), (7, 1, 4), (7, 4, 1), (1, 7, 4)]


def test_a_ratio_to_nothing_is_none() -> None:
    assert ratio(3.0, 2.0) == 1.5
    assert ratio(3.0, 0.0) is None
