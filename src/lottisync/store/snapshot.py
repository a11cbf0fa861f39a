"""A moment of a store, held for one round (docs/specs/07-sync.md): its knowledge, and what a peer lacks of it."""

from collections.abc import Iterable

import apsw

from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import canonical
from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import Version
from lottisync.store import quarantine
from lottisync.store.reader import Reader

TEXT_AS_BYTES = "id, type, cast(clock as blob), cast(stamps as blob), cast(serialized as blob)"


class Snapshot(Reader):
    """On a connection of its own until `close`; writers go on meanwhile. Made by `Store.snapshot`."""

    def __init__(self, schema: StoreSchema, connection: apsw.Connection) -> None:
        super().__init__(schema, connection)
        self._rows("begin")
        self.knowledge()  # the moment is the first read's, not that of `begin`

    def lacking(self, knowledge: Clock, held: Iterable[tuple[Host, int, str]]) -> list[int]:
        """The row numbers of every entity with a clock component beyond `knowledge`, less those whose
        components beyond it are all in `held`; leading types first, then in the order they were made here."""
        wanted: dict[int, set[tuple[Host, int]]] = {}
        for number, host in self._rows("select n, host from hosts"):
            for counter, n in self._rows(
                "select counter, n from components where host = ? and counter > ?", (number, knowledge.get(host, 0))
            ):
                wanted.setdefault(n, set()).add((host, counter))
        for host, counter, entity in held:
            for (n,) in self._rows(
                "select n from rows where id = ?1 union all select n from quarantine where id = ?1", (entity,)
            ):
                if n in wanted:
                    wanted[n].discard((host, counter))
        numbers = sorted(n for n, dots in wanted.items() if dots)
        if self.schema.leading:
            first = {
                n
                for leading in self.schema.leading
                for (n,) in self._rows("select n from rows where type = ?", (leading,))
            }
            numbers.sort(key=lambda n: (n not in first, n))
        return numbers

    def versions(self, numbers: Iterable[int]) -> list[Version]:
        """The versions with these row numbers, in that order."""
        listed = (canonical.encode(wanted := list(numbers)).decode(),)
        found: dict[int, Version] = {}
        for table, columns in (
            (self._entities, TEXT_AS_BYTES),
            (self._links, TEXT_AS_BYTES),
            ("quarantine", quarantine.VERSION_COLUMNS),
        ):
            rows = self._rows(f"select n, {columns} from {table} where n in (select value from json_each(?))", listed)
            for n, *parts in rows:
                found[n] = Version(*parts)
            if len(found) == len(wanted):
                break
        return [found[n] for n in wanted]

    def close(self) -> None:
        self._connection.close()
