"""A hook of mkdocs: the repository's own Markdown files as pages of the site.

README, CONTRIBUTING, CHANGELOG and the models' cards stand where GitHub and the hub look for them.
Here they become pages, with links that lead to pages.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "src/unembed/assets/minilm-en/README.md": "model-card.md",
    "models/use-ten/README.md": "ten-languages-card.md",
}

# ](target), ](target#part) and src="target"
_LINK = re.compile(r'(\]\(|src=")([^)"#\s]+)')


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=for_site(text, source, page)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    uri = page.file.src_uri
    return markdown if uri in PAGES.values() else for_site(markdown, f"docs/{uri}", uri)


def for_site(text: str, source: str, page: str) -> str:
    """The text of a file of the repository with its links turned into links between pages."""

    def follow(found: re.Match[str]) -> str:
        before, target = found.groups()
        if ":" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        there = PAGES.get(path, path.removeprefix("docs/"))
        return before + posixpath.relpath(there, posixpath.dirname(page) or ".")

    return _LINK.sub(follow, text)
