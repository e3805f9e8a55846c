"""Reads an SVG's title, description, keywords and artist, and the text it shows.

The parser is expat, driven by events, so only the requested parts are kept. Files above MAX_BYTES
are not parsed. Parsing stops at an entity declaration, so no entity is ever expanded and no other
file is opened. (The files come from a distribution, but are read as untrusted.)
"""

from dataclasses import dataclass, field
from xml.parsers import expat

from clipaudit.errors import InputError

MAX_BYTES = 1 << 24  # ten times the largest drawing of the library
_READ = ("title", "description", "li")  # elements that a path decides about


@dataclass
class Statements:
    """The statements of an SVG, with white space collapsed; "" or [] for missing ones.

    `text` has an entry for each `<text>` element with text, whether or not it is in the visible
    part. `problem` says why reading ended early; everything read before is kept.
    """

    title: str = ""
    description: str = ""
    artist: str = ""
    keywords: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    problem: str = ""


def statements_of(svg: bytes) -> Statements:
    """Return the statements of an SVG in the RDF of its metadata and in its text elements.

    The first non-empty one of several titles, descriptions or artists counts; equal keywords count
    once. No input raises an error: `problem` says what is wrong.

    >>> statements_of(b"<svg><text>Caf&#233;  Noir</text></svg>").text
    ['Café Noir']
    """
    if len(svg) > MAX_BYTES:
        return Statements(problem=f"larger than {MAX_BYTES} bytes")
    listener = _Listener()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = listener.start
    parser.EndElementHandler = listener.end
    parser.CharacterDataHandler = listener.characters
    parser.EntityDeclHandler = _refuse_entities
    try:
        parser.Parse(svg, True)
    except (expat.ExpatError, _Refused, LookupError, ValueError) as error:  # the last: encodings
        listener.said.problem = str(error)
    return listener.said


class _Refused(InputError):
    """Reading of the file stops."""


def _refuse_entities(name: str, *_: object) -> None:
    raise _Refused(f"declares the entity {name!r}")


class _Listener:
    """Follows the path of open elements and collects the text of the requested ones."""

    def __init__(self) -> None:
        self.said = Statements()
        self._path: list[str] = []
        self._parts: list[str] = []
        self._texts_open = 0
        self._line: str | None = None  # the y of the previous tspan

    def start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        self._path.append(local)
        if local == "text":
            self._texts_open += 1
            self._line = attributes.get("y")
            if self._texts_open == 1:
                self._parts.clear()
        elif local == "tspan" and attributes.get("y", self._line) != self._line:
            self._line = attributes["y"]
            self._parts.append(" ")  # a new line
        elif local in _READ and not self._texts_open:
            self._parts.clear()

    def characters(self, data: str) -> None:
        if self._texts_open or (self._path and self._path[-1] in _READ):
            self._parts.append(data)

    def end(self, name: str) -> None:
        local = self._path[-1]
        if local == "text":
            self._texts_open -= 1
        if not self._texts_open and (local == "text" or local in _READ):
            self._note(" ".join("".join(self._parts).split()))
            self._parts.clear()
        self._path.pop()

    def _note(self, words: str) -> None:
        said = self.said
        match self._path[-4:]:
            case _ if not words:
                pass
            case [*_, "text"]:
                said.text.append(words)
            case [*_, "Work", "title"]:
                said.title = said.title or words
            case [*_, "Work", "description"]:
                said.description = said.description or words
            case ["Work", "creator", _, "title"]:
                said.artist = said.artist or words
            case ["Work", "subject", _, "li"] if words not in said.keywords:
                said.keywords.append(words)
