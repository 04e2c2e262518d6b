"""A hook of mkdocs: pages made of other files, so that nothing is written twice.

README.md, ARCHITECTURE.md, CHANGELOG.md, SECURITY.md and CONTRIBUTING.md become pages, cpp.md is made of the comments
of include/wgrad. Links to files that are no pages become their names."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOT_PAGES = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CHANGELOG.md": "changelog.md",
              "SECURITY.md": "security.md", "CONTRIBUTING.md": "contributing.md"}
# What a reader needs first; headers that are not named follow.
HEADERS = ["wgrad.hpp", "dtype.hpp", "problem.hpp", "device_spec.hpp", "support.hpp", "executable.hpp", "operands.hpp",
           "explain.hpp", "quantize.hpp", "scale_layout.hpp", "codec.hpp", "precompile.hpp", "toolchain.hpp",
           "trace.hpp", "reference.hpp", "errors.hpp"]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def header_page(header):
    """One header: its first comment, then its declarations, comments and all, as they are written."""
    lines = (ROOT / "include/wgrad" / header).read_text().splitlines()
    count = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    about = " ".join(line.lstrip("/ ") for line in lines[:count])
    kept = [line for line in lines[count:] if not line.startswith(("#include", "#pragma"))]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return f"## wgrad/{header}\n{about}\n\n```cpp\n{body}\n```\n"


def cpp_page():
    later = sorted({path.name for path in (ROOT / "include/wgrad").glob("*.hpp")} - set(HEADERS))
    start = (ROOT / "README.md").read_text().split("\n## C++\n")[1].split("\n## ")[0]
    return "# C++\n" + start + "\n" + "\n".join(map(header_page, [*HEADERS, *later]))


def on_files(files, config):
    from mkdocs.structure.files import File

    for source, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    files.append(File.generated(config, "cpp.md", content=cpp_page()))
    return files


def target_of(address, page):
    """What a link of a page leads to: a page's place in docs/, or None for a file that is no page."""
    source = {to: name for name, to in ROOT_PAGES.items()}.get(page, "README.md" if page == "cpp.md" else f"docs/{page}")
    path, mark, anchor = address.partition("#")
    if not path:
        return address
    place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    place = ROOT_PAGES.get(place, place)
    if place.startswith("docs/"):
        place = place[len("docs/"):]
    elif place not in ROOT_PAGES.values():
        assert (ROOT / place).exists(), f"{source} links to {address}, which does not exist"
        return None
    return posixpath.relpath(place, posixpath.dirname(page) or ".") + mark + anchor


def on_page_markdown(markdown, page, config, files):
    def linked(match):
        picture, text, address = match.groups()
        if "://" in address:
            return match[0]
        target = target_of(address, page.file.src_uri)
        return f"{picture}[{text}]({target})" if target else (text if "`" in text else f"`{text}`")

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else LINK.sub(linked, part) for part in parts)
