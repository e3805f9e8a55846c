"""Read the settings: YAML in, frozen `Settings` out, or one message that says what is wrong."""

import difflib
import json
import shlex
import time
import types
import typing
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from clipaudit.config.audits import plugged_audits
from clipaudit.config.settings import Settings, whole_settings
from clipaudit.config.shipped import shipped
from clipaudit.config.training import Encoder
from clipaudit.corpora.shards import LIST
from clipaudit.errors import ConfigError
from clipaudit.plaindata import Json
from clipaudit.plaintext import many
from clipaudit.suggestions import did_you_mean, similar_path

DEFAULT = "config/demo.yaml"
_CLOCKS_SECONDS = 60  # by which clocks of a shared disk may differ
RUNS_PYTHON = "__use_yte__"  # turns on the YAML template engine in Snakemake's --configfile


def read_settings(path: Path, *, extended_by: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return the content of one YAML file; raise ConfigError if it cannot be read as a mapping."""
    if path in extended_by:
        raise ConfigError(f"{path}: extends itself via {', '.join(map(str, extended_by))}")
    try:
        with path.open() as file:  # not its text: errors then name the file
            content = yaml.load(file, _Loader)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}). Name a YAML file."
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {error}") from error
    if content is None:
        raise ConfigError(
            f"{path}: is empty, expected settings. `clipaudit init` lists examples to start from."
        )
    if not isinstance(content, dict):
        raise ConfigError(
            f"{path}: holds {type(content).__name__}, expected a mapping of settings."
        )
    if RUNS_PYTHON in content:
        raise ConfigError(
            f"{path}: `{RUNS_PYTHON}` makes Snakemake run Python code in this file. Settings are "
            "plain YAML: remove it; if others wrote the file, read the code first."
        )
    return extended(content, by=(*extended_by, path))


def extended(content: Json, *, by: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return the settings merged over those of the file named under `extends`, if there is one.

    Sections are merged, anything else is replaced. The path is relative to the current folder; if
    there is no such file, it names one of the example settings.
    """
    own = {key: value for key, value in content.items() if key != "extends"}
    if "extends" not in content:
        return own
    if not isinstance(content["extends"], str):
        raise ConfigError(
            f"extends: {content['extends']!r} is no path; name one file. It may itself extend "
            "another one."
        )
    below = shipped(Path(content["extends"]))
    if not below.exists():
        near = similar_path(below, but=by[-1] if by else None)
        raise ConfigError(
            f"{f'{by[-1]}: ' if by else ''}extends {below}, which does not exist. "
            + (f"Did you mean {near}?" if near else f"It is relative to {Path.cwd()}.")
        )
    return _joined(read_settings(below, extended_by=by), own)


def over_default(content: Json) -> dict[str, Any]:
    """Return the settings of a run, over those of the demo if they name no corpora.

    There are none without a --configfile, or if --config gives single values alone.
    """
    return extended(content if "corpora" in content else {"extends": DEFAULT, **content})


def _joined(below: Json, above: Json) -> dict[str, Any]:
    """Return `below` overridden by `above`, section by section."""
    both = {
        key: _joined(below[key], value)
        for key, value in above.items()
        if isinstance(value, dict) and isinstance(below.get(key), dict)
    }
    return {**below, **above, **both}


class _Loader(yaml.CSafeLoader):
    """A safe YAML loader that rejects duplicate keys, where the second would replace the first.

    It uses libyaml for speed: each job reads the settings when it starts.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Reject a key that occurs twice in one mapping; keys merged by `<<` may be replaced."""
        own = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        for number, key in enumerate(own):
            first = next((each for each in own[:number] if each.value == key.value), None)
            if first is not None:
                line = first.start_mark.line + 1
                problem = f"{key.value!r} occurs twice in one section, first in line {line}"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
        return super().construct_mapping(node, deep)


def parse_settings(content: Json) -> Settings:
    """Return the checked settings, with what audits derive from them.

    Raise ConfigError with all faults, one per line.
    """
    model = whole_settings(content)
    try:
        settings = model.model_validate(content)
    except ValidationError as error:
        lines = [_describe(fault, model) for fault in error.errors()]
        raise ConfigError("the settings are invalid:\n  " + "\n  ".join(lines)) from error
    return settings.with_derived()


def check_files(run: Settings, *, root: Path = Path()) -> None:
    """Raise ConfigError unless every file that the user provides exists.

    Files that a world makes and blurred shards are not checked: they do not exist before the first
    run. Nor are remote shards: indexing reports those that are missing. Settings with
    `without_data` are not checked.
    """
    if run.without_data:
        return
    absent = [each for each in _files_brought(run) if not (root / each[1]).is_file()]
    for where, path in absent:
        if (root / path).is_dir():
            raise ConfigError(_of_a_folder(where, path))
    missing = [f"{where}: {path}" for where, path in absent]
    missing += [
        f"{where}: {path}" for where, path in _folders_brought(run) if not (root / path).is_dir()
    ]
    if missing:
        shown = "\n  ".join(missing[:10])
        more = f"\n  and {len(missing) - 10} more" if len(missing) > 10 else ""
        step = "Correct the paths; they are relative to the folder that snakemake runs in."
        if any(path.endswith(LIST) for _, path in absent):
            step += (
                " Lists of images are written again by the command that wrote them: `clipaudit "
                "audit` (with --to, if its folder was moved) or `clipaudit import folder`."
            )
        raise ConfigError(
            f"{many(len(missing), 'file')} that the settings name "
            f"{'does' if len(missing) == 1 else 'do'} not exist:\n  {shown}{more}\n{step}"
        )


def check_times(run: Settings) -> None:
    """Raise ConfigError for files of the user with a time in the future.

    Snakemake fails a job whose outputs are older than its inputs. Only the start of a run asks
    this; finished results can be read.
    """
    if run.without_data:
        return
    soon = time.time() + _CLOCKS_SECONDS
    ahead = [path for _, path in _files_brought(run) if Path(path).stat().st_mtime > soon]
    if ahead:
        more = f" and {len(ahead) - 1} more" if len(ahead) > 1 else ""
        raise ConfigError(
            f"{ahead[0]}{more}: last changed in the future, by this machine's clock, and Snakemake "
            "would fail each job that reads it. Correct the clock, or `touch` these files."
        )


def check_splits(run: Settings) -> None:
    """Raise ConfigError for a split whose SQL no sample can be chosen with.

    It imports DuckDB, so it is left to a plan and to the start of a run: jobs read settings, too.
    """
    splits = {name: each for name, each in run.corpora.items() if each.where is not None}
    if not splits:
        return
    from clipaudit.corpora.samples import SAMPLES
    from clipaudit.corpora.splits import select_samples

    for name, each in splits.items():
        assert each.where is not None, "it is one of the splits"
        select_samples(SAMPLES.empty_table(), name=name, where=each.where, label=each.label)


def check_architectures(run: Settings) -> None:
    """Raise ConfigError for an architecture that open_clip does not have.

    Its names are those of files, since importing open_clip takes seconds.
    """
    package = find_spec("open_clip")
    assert package is not None, "clipaudit depends on it"
    folders = package.submodule_search_locations or ()
    known = {path.stem for each in folders for path in Path(each).glob("model_configs/*.json")}
    for name, architecture in run.architectures.items():
        model = architecture.open_clip
        if model is not None and model not in known:
            raise ConfigError(
                f"architectures.{name}.open_clip: open_clip has no model {model!r}."
                f"{did_you_mean(model, known)}"
            )


def _of_a_folder(where: str, path: str) -> str:
    """Return the message about a folder where a setting needs files."""
    if not where.endswith(".shards"):
        return f"{where}: {path} is a folder, expected a file. Name the file."
    corpus = where.split(".")[1]
    return (
        f"{where}: {path} is a folder, expected its files. Write a pattern such as "
        f"{Path(path)}/{{00000..00041}}.tar; `clipaudit import tars {shlex.quote(path)} --name "
        f"{corpus}` prints that of this folder."
    )


def _files_brought(run: Settings) -> Iterator[tuple[str, str]]:
    """Yield each setting that names a file of the user, with the file."""
    for name, corpus in run.corpora.items():
        own = corpus.world is None and corpus.blurred is None and not corpus.is_split
        if own and not run.is_remote(name):
            where = f"corpora.{name}.{'metadata' if corpus.metadata else 'shards'}"
            yield from ((where, path) for path in run.shards(name))
    named: dict[str, str | None] = {}
    for name, label_set in run.label_sets.items():
        named[f"label_sets.{name}.classes"] = label_set.classes
    for name, architecture in run.architectures.items():
        named[f"architectures.{name}.vocabulary"] = architecture.vocabulary
    for name, weights in _needed_weights(run).items():
        named[f"encoders.{name}.pretrained"] = weights
    for name, classifier in run.classifiers.items():
        named[f"classifiers.{name}.checkpoint"] = classifier.checkpoint
    for name, corpus in run.corpora.items():
        if corpus.blurred is not None:
            named[f"corpora.{name}.blurred.detector"] = corpus.blurred.detector
        if corpus.label_map is not None and isinstance(corpus.label_map.classes, str):
            named[f"corpora.{name}.label_map.classes"] = corpus.label_map.classes
    for audit, section in run.audits():
        named |= audit.files(section)
    made = tuple(f"data/{world}/" for world in run.worlds)
    for where, path in named.items():
        if path is not None and not path.startswith(made):
            yield where, path
    for name, given in run.embeddings.items():
        for path in [*given.array_files, *given.metadata_files]:
            yield f"embeddings.{name}", path


def _folders_brought(run: Settings) -> Iterator[tuple[str, str]]:
    """Yield each setting that names a folder of the user, with the folder."""
    for name, encoder in _embedding(run).items():
        if encoder.directory is not None:
            yield f"encoders.{name}.directory", encoder.directory
    for audit, section in run.audits():
        yield from audit.folders(section).items()


def _needed_weights(run: Settings) -> dict[str, str | None]:
    """Return the files of weights of encoders that embed, by encoder.

    For an architecture with a definition open_clip has no tags; no tag has a slash.
    """
    return {
        name: encoder.pretrained
        for name, encoder in _embedding(run).items()
        if encoder.architecture is not None
        and (
            run.architectures[encoder.architecture].definition is not None
            or "/" in (encoder.pretrained or "")
        )
    }


def _embedding(run: Settings) -> dict[str, Encoder]:
    """Return the encoders that need weights; one whose embeddings are given may have none."""
    given = {encoder for encoder, _ in run.given_embeddings()}
    return {name: encoder for name, encoder in run.encoders.items() if name not in given}


def json_schema(plugged: Iterable[str] = ()) -> str:
    """Return the JSON schema of the settings, as in `config/schema.json`.

    With sections of the audit plug-ins `plugged`, it serves an editor.
    """
    schema = whole_settings(plugged).model_json_schema()
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def _describe(fault: Any, model: type[Settings]) -> str:  # noqa: ANN401
    """Return one of Pydantic's faults in the user's terms."""
    place = _place(fault["loc"], model)
    if fault["type"] == "extra_forbidden":
        place.append(str(fault["loc"][-1]))
    where = ".".join(place)
    if fault["type"] == "extra_forbidden":
        known = _known_keys(fault["loc"], model)
        if len(fault["loc"]) == 1:
            known += plugged_audits()
        guess = difflib.get_close_matches(place[-1], known, n=1)
        hint = f" Did you mean `{guess[0]}`?" if guess else did_you_mean(place[-1], known)
        homes = list(dict.fromkeys(_homes(place[-1], model)))
        if homes and len(place) == 1 and not guess:
            others = " and others" if len(homes) > 3 else ""
            hint = f" It belongs in {', '.join(homes[:3])}{others}."
        if len(fault["loc"]) == 1 and isinstance(fault["input"], dict) and not guess:
            hint = " If it is an audit's section, install the distribution that provides the audit."
        return f"{where} is not a setting.{hint}"
    if fault["type"] == "string_type" and fault["loc"][-1] == "[key]":
        return (
            f"{'.'.join(place[:-1])}: the name {fault['input']!r} is not text, as YAML reads "
            "numbers, yes, no, on and off. Write it in quotes."
        )
    message = fault["msg"].removeprefix("Value error, ").partition(" or instance of ")[0]
    if fault["type"] == "missing":
        return f"{where} is missing."
    if fault["type"] == "union_tag_not_found":
        return f"{where}.kind is missing."
    if fault["type"] == "union_tag_invalid":
        return f"{where}.kind: {fault['ctx']['tag']!r} is not {fault['ctx']['expected_tags']}"
    if fault["type"] == "value_error":
        return f"{where}: {message}" if where and not message.startswith(where) else message
    hint = "; a name has letters, digits, - and _" * (fault["type"] == "string_pattern_mismatch")
    return f"{where}: {message} (given: {_shortened(fault['input'])}){hint}"


def _shortened(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _place(loc: tuple[str | int, ...], model: type[Settings]) -> list[str]:
    """Return the names of sections and settings that lead to a fault, as they are in the file.

    Pydantic also names the arm of a union, such as `list[str]`, and `[key]` after a wrong name.
    """
    level: Any = model
    place = []
    for part in loc:
        inner = _step_into(level, part)
        if inner is not level:
            place.append(str(part))
        level = inner
    return place


def _known_keys(place: tuple[str | int, ...], model: type[Settings]) -> list[str]:
    """Return the known setting names at a place, by walking the models."""
    level: Any = model
    for part in place[:-1]:
        level = _step_into(level, part)
    models = [each for each in _alternatives(level) if _is_model(each)]
    return [name for model in models for name in model.model_fields]


def _homes(name: str, level: Any, place: tuple[str, ...] = ()) -> Iterator[str]:  # noqa: ANN401
    """Yield where settings of a name belong, such as `corpora.NAME`."""
    for each in _alternatives(level):
        if _is_model(each):
            for field, about in each.model_fields.items():
                if field == name and place:
                    yield ".".join(place)
                yield from _homes(name, about.annotation, (*place, field))
        elif typing.get_origin(each) is dict:
            yield from _homes(name, typing.get_args(each)[1], (*place, "NAME"))


def _step_into(level: Any, part: str | int) -> Any:  # noqa: ANN401
    for each in _alternatives(level):
        if _is_model(each) and part in each.model_fields:
            return each.model_fields[part].annotation
        if typing.get_origin(each) is dict:
            return typing.get_args(each)[1]
        if typing.get_origin(each) in (list, tuple) and isinstance(part, int):
            return typing.get_args(each)[0]
    return level  # Pydantic added `part` to the path


def _alternatives(annotation: Any) -> list[Any]:  # noqa: ANN401
    """Return the members of a union, looking through Annotated."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _alternatives(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [each for arm in typing.get_args(annotation) for each in _alternatives(arm)]
    return [annotation]


def _is_model(annotation: Any) -> bool:  # noqa: ANN401
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
