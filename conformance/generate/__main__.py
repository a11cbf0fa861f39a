"""`python -m conformance.generate [FOLDER]`: write all vectors into `conformance/vectors` unless told."""

import shutil
import sys
from pathlib import Path

from conformance.generate import (
    clock,
    digest,
    guard,
    hlc,
    join,
    malformed,
    normal_form,
    operation,
    projection,
    read,
    redundancy,
    relay,
    run_key,
)

AREAS = (
    clock,
    digest,
    guard,
    hlc,
    join,
    malformed,
    normal_form,
    operation,
    projection,
    read,
    redundancy,
    relay,
    run_key,
)
VECTORS = Path(__file__).resolve().parent.parent / "vectors"


def write_all(folder: Path) -> int:
    """Replace the areas of vectors in `folder`, and nothing else there; how many vectors there are."""
    for area in folder.glob("[0-9]-*"):
        shutil.rmtree(area)
    books = [area.vectors() for area in AREAS]
    for book in books:
        book.write(folder)
    return sum(len(book.vectors) for book in books)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else VECTORS
    print(f"{write_all(target)} vectors in {target}")
