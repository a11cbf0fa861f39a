"""The page of the package on an index: README.md without links that lead nowhere there.

An index shows the long description alone, so a link to a file beside the README would be broken. In its place stands
the name of that file; a picture is left out. The build runs this (`[tool.hatch.metadata.hooks.custom]`).
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_BESIDE = r"\((?!https?:|#)([^)\s]+)\)"
_PICTURE = re.compile(rf"!\[[^\]]*\]{_BESIDE}\n*")
_LINK = re.compile(rf"\[([^\]]+)\]{_BESIDE}")


def standing_alone(readme: str) -> str:
    """The text with the names of files in place of links to them, and without pictures."""
    return _LINK.sub(_named, _PICTURE.sub("", readme))


def _named(link: re.Match[str]) -> str:
    text, file = link[1], link[2].partition("#")[0]
    return text if text.rstrip("/") in file else f"{text} (`{file}`)"


class IndexPage(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": standing_alone(readme)}
