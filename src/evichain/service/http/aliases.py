"""Aliases: explanations hide the ids of other users."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b

from evichain.evidence.trace import Piece, Trace
from evichain.ratings.ids import Id
from evichain.ratings.side import Side

_ALIASES = 10**6
"""The number of aliases: so many that collisions are rare, so that `without` seldom changes one."""


@dataclass(frozen=True)
class Aliases:
    """Replaces the ids of users in a trace by aliases such as `#417092`.

    A user has one alias in a trace, and the same one if the explanation is repeated with some
    evidence left out. For another item or another asker it differs, so that the ratings of a
    user cannot be collected from many explanations.
    """

    secret: str

    def applied(self, trace: Trace) -> Trace:
        """The trace with aliases for everyone but the asker."""
        others = dict.fromkeys(_people(trace.user, trace.item))
        others.pop(str(trace.user.id), None)
        numbers = {person: self._number(trace, person) for person in others}
        names, taken = {str(trace.user.id): trace.user.title}, set[int]()
        for person in sorted(numbers, key=numbers.__getitem__):
            number = numbers[person] % _ALIASES
            while number in taken:
                number = (number + 1) % _ALIASES
            taken.add(number)
            names[person] = f"#{number}"

        def renamed(piece: Piece) -> Piece:
            pieces = tuple(map(renamed, piece.pieces))
            if piece.side is not Side.USER:
                return replace(piece, pieces=pieces)
            name = names[str(piece.id)]
            identifier: Id = name if str(piece.id) in others else piece.id
            return replace(piece, id=identifier, title=name, pieces=pieces)

        return replace(trace, user=renamed(trace.user), item=renamed(trace.item))

    def _number(self, trace: Trace, person: str) -> int:
        about = "\0".join(map(str, (trace.user.id, trace.item.id, person)))
        digest = blake2b(about.encode("utf-8", "surrogatepass"), key=self.secret.encode()[:64])
        return int.from_bytes(digest.digest()[:8], "little")


def _people(*pieces: Piece) -> Iterator[str]:
    for piece in pieces:
        if piece.side is Side.USER:
            yield str(piece.id)
        yield from _people(*piece.pieces)
