"""A hook of mkdocs: the repository's own Markdown files as pages of the site.

README, CONTRIBUTING, CHANGELOG and the bundled model's card stand where GitHub and the hub look for them.
Here they become pages, with links that lead to pages.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "src/unembed/assets/minilm-en/README.md": "model-card.md",
}

# ](target), ](target#part) and src="target"
_LINK = re.compile(r'(\]\(|src=")([^)"#\s]+)')


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=for_site(text, source)))
    return files


def for_site(text: str, source: str) -> str:
    """The text with its links to files of the repository turned into links to pages (all at the top)."""
    folder = posixpath.dirname(source)

    def follow(found: re.Match[str]) -> str:
        before, target = found.groups()
        if ":" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        return before + PAGES.get(path, path.removeprefix("docs/"))

    return _LINK.sub(follow, text)
