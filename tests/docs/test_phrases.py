"""Pages, messages and comments of queries have no phrase that reads as translated."""

import ast
import re
from inspect import cleandoc

import pytest
from pagecommands import PAGES, ROOT

PLAINER = {
    r"\ball the same\b|\b(?:of|for) no account\b|\ball one (?:to|what|who)\b": "does not matter",
    r"(?<!is )\bnot one\b": "none, no",
    r"\balike\b": "identical, similar",
    r"\btold (?:from|apart)\b|\btell(?:s|ing)? (?:\w+ ){0,2}apart\b": "distinguished",
    r"\bas (?:it|they) comes?\b": "unchanged",
    r"(?<!several )\bat once\b": "immediately, together, at the same time",
    r"\bwhat (?:is|are) (?:no|not|too|there|of)\b": "say what it is",
    r"\bin words\b": "as text",
    r"\bwho (?:has|have|wants?)\b|^Who\b(?!.*\?)": "if you have",
    r"^Of\b(?=.*\b(?:is|are|was|were|there|has|have|reads?|takes?|can)\b)": "subject first",
    r"^Whose\b(?!.*\?)": "subject first",
    r"\b(?:what|that|which) lies?\b|\blies? (?:there|beside|between)\b": "the files, is in",
    r"\bother way (?:round|around)\b": "the opposite",
    r"\bnobody\b": "subject first: what happens instead",
    r"\bwhat (?:\w+ ){1,5}is about\b": "measures, answers",
    r"\bput(?:s|ting)? aside\b": "moves",
    r"\b(?:asks?|wants?) nothing\b": "makes no request",
    r"\b[Ww]hat binds\b": "bottleneck",
    r"\bmeans well\b|\bbelieved\b": "benign, trusted",
    r"\blater best\b|\bfirst best\b": "initial, refined",
    r"\blacks every\b|\bsteers no\b|\bmore than one writes\b": "omits, cannot, shared",
}
NO_PROSE = re.compile(r"```.*?```|^ {4}.*?$|`[^`]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
CHANGES = ROOT / "CHANGELOG.md"  # keeps the wording of its time


def prose_of_pages():
    return {path: path.read_text() for path in PAGES if path != CHANGES}


def texts_of_code():
    """Texts in code that hold a space, docstrings of commands (their help), comments of queries."""
    found = {}
    for path in sorted((ROOT / "clipaudit").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
        seen = [each for each in nodes if path.parent.name == "cli" or each not in docstrings]
        said = [each.value for each in seen if isinstance(each, ast.Constant)]
        texts = [cleandoc(text) for text in said if isinstance(text, str) and " " in text]
        found[path] = "\n\n".join(texts)
    for path in sorted((ROOT / "clipaudit").rglob("*.sql")):  # the report shows them
        found[path] = "\n\n".join(re.findall(r"--(.*)", path.read_text()))
    return found


@pytest.fixture(scope="module", params=[prose_of_pages, texts_of_code])
def sentences(request):
    """Every sentence, behind the file that has it."""
    return [
        (str(path.relative_to(ROOT)), " ".join(each.split()))
        for path, text in request.param().items()
        for each in re.split(r"(?<=[.!?:])\s+|\n\s*\n|[|\n] *[-*#|]+ ", NO_PROSE.sub(" ", text))
    ]


@pytest.mark.parametrize("phrase", PLAINER)
def test_no_sentence_contains_a_phrase_with_a_plainer_alternative(sentences, phrase):
    assert len(sentences) > 1000
    found = [each for each in sentences if re.search(phrase, each[1])]

    assert found == [], f"say: {PLAINER[phrase]}"


@pytest.mark.parametrize(
    "before",
    [
        "Of settings `without_data` nothing is asked, there is no file.",
        "Who has embeddings of a corpus can ask the similarity audit.",
        "It is of no account in which order shards lie there.",
        "A step to which it is all one what its inputs are called",
        "of most records nobody knows",
        "Told apart from a damaged one, by name",
        "puts aside, looks again, and only then removes",
        "Asks nothing of the network",
    ],
)
def test_former_sentences_contain_a_listed_phrase(before):
    first = before[0].lower() + before[1:]

    assert any(re.search(phrase, text) for phrase in PLAINER for text in (before, first))
