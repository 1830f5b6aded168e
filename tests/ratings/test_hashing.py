import numpy as np

from evichain.ratings.hashing import mix, pair_hash


def test_hashes_never_change() -> None:
    """Written down, because the evidence of saved models and other engines rests on them."""
    one, two = np.uint64(1), np.uint64(2)
    assert mix(one) == 0x910A2DEC89025CC1
    assert pair_hash(0, one, two) == 0xBCD9DBB49673066B
    assert pair_hash(1, one, two) == 0x9678F88D73AE2751
