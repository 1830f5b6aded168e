"""Writes to a store from several threads, and says on stdout what was acknowledged.

usage: writer.py URL NAME THREADS BATCHES    (any number of batches if that is 0)

Each batch is SIZE ratings by the user NAME/thread; its line is `thread batch`.
"""

import sys
import threading
from itertools import count

from evichain.service.store import open_store

SIZE = 3


def main(url: str, name: str, threads: int, batches: int) -> None:
    with open_store(url) as store:

        def write(thread: int) -> None:
            for batch in range(batches) if batches else count():
                rows = [(f"{name}/{thread}", batch * SIZE + part, 1 + part) for part in range(SIZE)]
                store.put(rows)
                sys.stdout.write(f"{thread} {batch}\n")
                sys.stdout.flush()

        writers = [threading.Thread(target=write, args=[thread]) for thread in range(threads)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
