"""The home of a person's tasks: a device with the tasks, and with what agents say and propose.

A program's own stores may lie in the same home; they come after these.
"""

from lottisync.daemon.stores import STORES
from lottisync.device.home import Home
from lottisync.problem import Sentence
from lottisync.store.store import Store


class TaskHome(Home):
    SCHEMAS = STORES

    @property
    def journal(self) -> Store:
        """The store of tasks, checklists and entries."""
        return self.store("journal")

    def device_name(self, device: str) -> str:
        """What people call the device of that id; the beginning of the id if it is not known here."""
        member = self.roster().members.get(device)
        return member.name if member is not None else Sentence("an unknown device ({id})", id=device[:8])

    @property
    def agent(self) -> Store:
        """The store of what agents say and propose, and of what was decided."""
        return self.store("agent")
