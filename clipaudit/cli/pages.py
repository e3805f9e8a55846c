"""Write each command's --help into its page in docs/commands/.

    python -m clipaudit.cli.pages

replaces the block between the two marks of every page; the text around it is written by hand.
It also writes docs/signatures.md and docs/settings.md.
"""

from pathlib import Path

import click

from clipaudit.cli.commands import commands
from clipaudit.cli.options import HELP_OPTIONS
from clipaudit.cli.signatures import signatures_page
from clipaudit.config.reference import settings_page

PAGES = Path("docs/commands")
START, END = "<!-- help -->\n", "<!-- end of help -->\n"


def help_block(command: click.Command) -> str:
    """Return what `clipaudit COMMAND --help` prints, as a code block between the marks.

    For a group, the help of its commands follows, sorted by name.
    """
    helps = [_help(command, f"clipaudit {command.name}")]
    if isinstance(command, click.Group):
        helps += [
            _help(each, f"clipaudit {command.name} {name}")
            for name, each in sorted(command.commands.items())
        ]
    text = "\n\n\n".join(helps)
    return f"{START}```\n{text}\n```\n{END}"


def _help(command: click.Command, called: str) -> str:
    context = click.Context(
        command, info_name=called, max_content_width=100, help_option_names=HELP_OPTIONS
    )
    context.terminal_width = 100
    return command.get_help(context)


def page_with_help(page: str, command: click.Command) -> str:
    """Return a page with its block replaced; a page without a block gets one at its end."""
    if START not in page:
        return f"{page.rstrip()}\n\n{help_block(command)}"
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + help_block(command) + after


def main() -> None:
    """Rewrite all blocks; a new command gets a page with a heading."""
    for name, command in sorted(commands.commands.items()):
        path = PAGES / f"{name}.md"
        page = path.read_text() if path.exists() else f"# clipaudit {name}\n"
        path.write_text(page_with_help(page, command))
    Path("docs/signatures.md").write_text(signatures_page())
    Path("docs/settings.md").write_text(settings_page())


if __name__ == "__main__":
    main()
