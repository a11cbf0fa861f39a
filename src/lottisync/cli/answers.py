"""Which command answers what (docs/json.md is written from this): a command -> the structs of its answers.

A command that is missing here fails a test. `conformance-adapter` and `export -` speak formats of their own.
"""

import msgspec

from lottisync.answers import agents, care, devices, review, stores, tasks
from lottisync.review.item_view import ItemView

ANSWERS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "init": (devices.Made, devices.StoresMade),
    "daemon": (devices.Event,),
    "pair": (
        devices.CodeShown,
        devices.InvitationShown,
        devices.PairedWith,
        devices.Invitations,
        devices.InvitationState,
    ),
    "devices": (devices.Devices,),
    "devices address": (devices.AddressGiven,),
    "devices acknowledge": (devices.Acknowledged,),
    "devices retire": (devices.DeviceChanged,),
    "devices revoke": (devices.DeviceChanged,),
    "devices rename": (devices.DeviceChanged,),
    "devices renew": (devices.DeviceChanged,),
    "status": (devices.Overview,),
    "devices browsers": (devices.Browsers,),
    "devices revoke-browser": (devices.Browser,),
    "open": (devices.Pages, devices.Admission),
    "import": (tasks.Imported,),
    "task list": (tasks.Tasks,),
    "task show": (tasks.TaskAnswer,),
    "task add": (tasks.TaskAnswer,),
    "task check": (tasks.ChangedItems,),
    **{
        f"task {verb}": (tasks.ChangedTasks,)
        for verb in (
            *("done", "reopen", "status", "due", "priority", "estimate", "edit", "note", "delete", "undelete"),
            *("category", "link", "label add", "label remove", "item add", "checklist add", "checklist rename"),
            *("time add", "time start"),
        )
    },
    **{f"task item {verb}": (tasks.ChangedItems,) for verb in ("edit", "check", "remove", "move", "archive")},
    **{f"task time {verb}": (tasks.ChangedTimes,) for verb in ("stop", "edit", "remove")},
    "task time list": (tasks.Times,),
    "search": (tasks.Hits,),
    "agent create": (agents.AgentAnswer,),
    "agent wake": (agents.Woken, agents.TimerSet),
    "agent configure": (agents.AgentAnswer,),
    "agent pause": (agents.AgentAnswer,),
    "agent resume": (agents.AgentAnswer,),
    "agent destroy": (agents.AgentAnswer,),
    "agent move": (agents.AgentAnswer,),
    "agent list": (agents.Agents,),
    "agent show": (agents.AgentAnswer,),
    "agent report": (agents.ReportAnswer,),
    "agent log": (agents.Runs, agents.Conversation),
    "review": (review.Proposals,),
    "review list": (review.Proposals,),
    "review show": (ItemView,),
    **{f"review {verb}": (review.Verdicts,) for verb in ("confirm", "edit", "reject", "defer", "undo", "keep")},
    "review dismiss": (review.Verdicts,),
    "review ledger": (review.ProposalLedger,),
    "review log": (review.Decisions,),
    "review reindex": (review.Reindexed,),
    "history": (stores.History,),
    "conflicts": (stores.Conflicts,),
    "conflicts show": (stores.Conflicts,),
    "conflicts keep": (stores.Settled,),
    "conflicts combine": (stores.Settled,),
    "check": (stores.Checked, stores.Accepted),
    "verify": (devices.Verified,),
    "doctor": (care.Diagnosis,),
    "daemon stop": (care.Stopped,),
    "config list": (care.SettingList,),
    "config get": (care.Setting,),
    "config set": (care.Setting,),
    "config unset": (care.Setting,),
    "backup": (devices.BackedUp,),
    "restore": (devices.Restored,),
    "export": (stores.Exported,),
    "purge": (stores.Purged,),
    "conformance-adapter": (),
}
