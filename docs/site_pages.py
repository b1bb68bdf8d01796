"""What the site has beside the files of this folder, and `docs/cli.md`.

`mkdocs build` calls the functions named ``on_…``: the front page is the README, and links to files
outside this folder lead to copies of them in the site. ``python docs/site_pages.py`` writes the
reference of the command line again; a test holds that it is up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from camcast.cli.app import app

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

DOCS = Path(__file__).parent
ROOT = DOCS.parent
OUTSIDE = re.compile(r"\[([^]]*)\]\(\.\./([^)#]+)\)")
IN_README = re.compile(r"\[([^]]*)\]\((?!https?:|docs/|#)([^)#]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the front page, and the files that pages link to."""
    from mkdocs.structure.files import File

    readme = (ROOT / "README.md").read_text()
    linked = [name for _, name in IN_README.findall(readme)]
    for page in sorted(DOCS.glob("*.md")):
        linked += [name for _, name in OUTSIDE.findall(page.read_text())]
    front = IN_README.sub(_to_copy, readme).replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=front))
    for name in dict.fromkeys(linked):
        if name != "README.md" and (path := ROOT / name).is_file():
            files.append(File.generated(config, f"source/{name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links to files outside this folder lead to their copies in the site."""
    return OUTSIDE.sub(_to_copy, markdown)


def _to_copy(link: re.Match[str]) -> str:
    """Return a link to the copy of a file; for a folder, which the site has not, its name alone."""
    text, name = link.groups()
    if name == "README.md":
        return f"[{text}](index.md)"
    if (ROOT / name).is_file():
        return f"[{text}](source/{name})"
    if (ROOT / name).is_dir():
        return str(text)
    raise FileNotFoundError(f"a page links to {name}, which is not in the checkout")


def cli_page() -> str:
    """Return the reference of the command line, as Markdown, made from the commands."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    lines = [
        "# The command line",
        "",
        "Made from the commands by `python docs/site_pages.py`; `camcast COMMAND --help` says the",
        "same. Results go to stdout, what is said to a person to stderr. Exit code 0: it worked;",
        "1: it did not, and stderr says why; 2: the command line was wrong; 128 and a signal's",
        "number: Ctrl-C (130), SIGTERM (143) or a closed terminal (129) ended a computation. What",
        "runs until it is stopped (`gateway`, `subscribe`, `dashboard`), `run` and `demo` end with",
        "0 then.",
        "",
        *_options(group),
    ]
    for name, command in _commands("camcast", group):
        lines += [f"## {name}", "", *_paragraphs(command), *_options(command)]
    return "\n".join(lines).rstrip() + "\n"


def _commands(path: str, group: TyperGroup) -> Iterator[tuple[str, Any]]:
    context: Any = None  # no command's existence depends on it
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{path} {name}", command
        if isinstance(command, TyperGroup):
            yield from _commands(f"{path} {name}", command)


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


if __name__ == "__main__":
    (DOCS / "cli.md").write_text(cli_page())
