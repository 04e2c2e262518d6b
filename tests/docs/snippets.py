"""The snippets of the pages: where they stand, in what language, and what a page says of running them.

A fence of Python or shell is run. A comment before it, `<!-- snippet: syntax: REASON -->`, declares one that cannot be
(a GPU, names of the reader's own program): its syntax is checked alone."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?:<!-- snippet: syntax: (?P<why>.+?) -->\n+)?```(?P<language>\w+)\n(?P<code>.*?)^```$",
                   re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Snippet:
    page: str
    line: int
    language: str
    code: str
    why: str | None  # why it is not run

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/design").glob("*.md"))]


def snippets_of(page: Path) -> list[Snippet]:
    text = page.read_text()
    return [Snippet(str(page.relative_to(ROOT)), text[:found.start("code")].count("\n") + 1, found["language"],
                    found["code"], found["why"]) for found in FENCE.finditer(text)]


def snippets(language: str) -> list[Snippet]:
    return [snippet for page in pages() for snippet in snippets_of(page) if snippet.language == language]
