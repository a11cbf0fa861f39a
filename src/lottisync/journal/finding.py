"""Which task, item or note a person means by a piece of its id or of its title (docs/specs/08-journal.md, JOUR-16,
JOUR-160 to JOUR-164)."""

import msgspec

from lottisync.journal.tasks import word_of
from lottisync.problem import Problem, Sentence
from lottisync.shown import quoted
from lottisync.store import lookups
from lottisync.store.reader import Document, Reader

MOST_CANDIDATES = 5
CANDIDATE_CHARACTERS = 8


def resolve(reader: Reader, named: str, type_name: str, *, deleted: bool = False) -> str:
    """The id of what a person named: by its id, by the first or last characters of it, or by a piece of its title that
    no other has (JOUR-160, JOUR-161). With `deleted`, one of the deleted entities. `Problem` if none or several fit."""
    entity = reader.document(named)
    if entity is not None and entity.type == type_name and (entity.deleted or not deleted):
        return named
    fitting = _fitting_deleted(reader, named, type_name) if deleted else _fitting(reader, named, type_name)
    if len(fitting) == 1:
        return fitting[0]
    word = word_of(type_name)
    if deleted:
        word = Sentence("deleted {word}", word=word)
    if not fitting:
        raise Problem("unknown-id", "there is no {word} {quoted}", hint="tasks", word=word, quoted=quoted(named))
    raise Problem(
        "ambiguous-id",
        "{quoted} fits more than one {word}: {candidates}. Give more of the id or the title",
        word=word,
        quoted=quoted(named),
        candidates=_candidates(reader, fitting),
    )


class _Titled(msgspec.Struct, frozen=True, gc=False):
    id: str
    title: str = ""


def _fitting(reader: Reader, named: str, type_name: str) -> list[str]:
    by_id = lookups.ids_like(reader, named, 1_000, type_name)
    return by_id or sorted(_by_title(named, reader.views(type_name, _Titled)[0]))


def _fitting_deleted(reader: Reader, named: str, type_name: str) -> list[str]:
    gone = [document.id for document in deleted_documents(reader, type_name)]
    typed = "".join(named.split()).replace("-", "").lower()
    plain = {ident: ident.replace("-", "").lower() for ident in gone}
    by_id = [ident for ident in gone if typed and (plain[ident].startswith(typed) or plain[ident].endswith(typed))]
    return by_id or _by_title(named, [document.view(_Titled) for document in deleted_documents(reader, type_name)])


def _by_title(named: str, titled: list[_Titled]) -> list[str]:
    """The entities with exactly this title; if there are none, those with this piece in their titles. Capitals are
    ignored."""
    piece = " ".join(named.split()).casefold()
    if not piece:
        return []
    fitting = [one for one in titled if piece in one.title.casefold()]
    exact = [one for one in fitting if one.title.casefold() == piece]
    return [one.id for one in exact or fitting]


def deleted_documents(reader: Reader, type_name: str) -> list[Document]:
    """The deleted entities of a type that are not forgotten yet, in the order of their ids."""
    found = (reader.document(ident) for ident in lookups.deleted_ids(reader, type_name))
    return [document for document in found if document is not None]


def _candidates(reader: Reader, fitting: list[str]) -> str:
    """The first few of the ids that fit, each with its title, as a person would type it."""
    named = []
    for ident in fitting[:MOST_CANDIDATES]:
        document = reader.document(ident)
        title = document.document().get("title") if document is not None else None
        named.append(f"{ident[-CANDIDATE_CHARACTERS:]} {quoted(title) if isinstance(title, str) else ''}".rstrip())
    return ", ".join(named) + (", ..." if len(fitting) > MOST_CANDIDATES else "")
