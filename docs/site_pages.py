"""The pages that the site has beside the files of this folder, and links that leave the folder.

`mkdocs build` calls the functions named ``on_…``. The front page is the README, the page `cli.md`
is made from the commands, and links to files outside this folder lead to copies of them in the
site.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperGroup

from camcast.cli.app import app

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

DOCS: Final = Path(__file__).parent
ROOT: Final = DOCS.parent
LINK: Final = re.compile(r"\[([^]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the front page, the page of the commands, and the files that pages link to."""
    from mkdocs.structure.files import File

    readme = (ROOT / "README.md").read_text()
    outside = list(_outside("README.md", readme))
    for page in sorted(DOCS.rglob("*.md")):
        outside += _outside(page.relative_to(ROOT).as_posix(), page.read_text())
    files.append(File.generated(config, "index.md", content=rewritten("README.md", readme)))
    files.append(File.generated(config, "cli.md", content=cli_page()))
    for name in dict.fromkeys(outside):
        if name != "README.md" and (path := ROOT / name).is_file():
            files.append(File.generated(config, f"source/{name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links to files outside this folder lead to their copies in the site."""
    if page.file.src_uri in {"index.md", "cli.md"}:
        return markdown
    return rewritten(f"docs/{page.file.src_uri}", markdown)


def rewritten(page: str, markdown: str) -> str:
    """Return the text of a page of the checkout with the links that it has in the site."""
    in_site = posixpath.dirname(posixpath.relpath(page, "docs")) if page != "README.md" else ""

    def link(found: re.Match[str]) -> str:
        text, written, anchor = found.groups()
        name = target(page, written)
        if name == "README.md":
            to = "index.md"
        elif name.startswith("docs/"):
            to = name.removeprefix("docs/")
        elif (ROOT / name).is_file():
            to = f"source/{name}"
        elif (ROOT / name).is_dir():
            return str(text)  # the site has no folders
        else:
            raise FileNotFoundError(f"{page} links to {written}, which is not in the checkout")
        return f"[{text}]({posixpath.relpath(to, in_site or '.')}{anchor or ''})"

    return LINK.sub(link, markdown)


def target(page: str, written: str) -> str:
    """Return the path from the root of the checkout of the file that a page links to."""
    return os.path.normpath(posixpath.join(posixpath.dirname(page), written))


def _outside(page: str, markdown: str) -> Iterator[str]:
    for _, written, _ in LINK.findall(markdown):
        if not (name := target(page, written)).startswith("docs/"):
            yield name


def cli_page() -> str:
    """Return the reference of the command line, as Markdown, made from the commands."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    lines = [
        "# The command line",
        "",
        "Made from the commands when the site is built; `camcast COMMAND --help` prints the same.",
        "Results go to stdout, messages to a person to stderr.",
        "",
        "| exit code | meaning |",
        "|---|---|",
        "| 0 | The command did its work. `gateway`, `subscribe`, `dashboard`, `run` and `demo` also"
        " end with 0 when they are stopped. |",
        "| 1 | The command was right and could not do its work; stderr gives the reason. |",
        "| 2 | The command line or a file is wrong. |",
        "| 128 and a signal's number | Ctrl-C (130), SIGTERM (143) or a closed terminal (129) ended"
        " a computation. |",
        "",
        *_options(group),
    ]
    for name, command in commands("camcast", group):
        lines += [f"## {name}", "", *_paragraphs(command), *_options(command)]
    return "\n".join(lines).rstrip() + "\n"


def commands(path: str, group: TyperGroup) -> Iterator[tuple[str, Any]]:
    """Yield every command below a group with its full name, groups before what is in them."""
    context: Any = None  # no command's existence depends on it
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{path} {name}", command
        if isinstance(command, TyperGroup):
            yield from commands(f"{path} {name}", command)


def _paragraphs(command: Any) -> list[str]:
    parts = [*(command.help or "").split("\n\n"), command.epilog or ""]
    text = [" ".join(part.split()) for part in parts if part]
    text = [f"`{t.removeprefix('Example: ')}`" if t.startswith("Example: ") else t for t in text]
    return [line for part in text for line in (part, "")]


def _options(command: Any) -> list[str]:
    context = command.context_class(command)
    rows = []
    for one in command.params:
        if (record := one.get_help_record(context)) is not None:
            spelling, meaning = (" ".join(part.split()).replace("|", "\\|") for part in record)
            rows.append(f"| `{spelling}` | {meaning} |")
    return ["| option | meaning |", "|---|---|", *rows, ""] if rows else []
