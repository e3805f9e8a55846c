"""Imports ARO's test cases as a corpus for caption selection: images with candidate captions.

Yuksekgonul et al., ICLR 2023: https://arxiv.org/abs/2210.01936. Reading, cropping and counting
follow https://github.com/mertyg/vision-language-models-are-bows: `dataset_zoo/aro_datasets.py`, and
for SYMMETRIC the notebook "Replicate ARO! VG-Relation, VG-Attribution". ARO publishes no file of
its order cases, which each run shuffles: dump `COCO_Order(...).test_cases` once, after `seed_all`.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clipaudit.corpora.blurring import encoded
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.plain_tars import plain_tar
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.statements import is_text, shown_value
from clipaudit.errors import InputError
from clipaudit.imports.blocks import Imported, file_patterns, part_size
from clipaudit.imports.folder_tables import lies_within, link_home
from clipaudit.plaintext import many, plain
from clipaudit.store.outputs import replaced

RELATION, ATTRIBUTION, ORDER = "relation_name", "attributes", "caption_options"
_LEFT_OUT = {
    RELATION: "symmetric relations",
    ATTRIBUTION: "rare pairs",
    ORDER: "captions that equal all their shuffles",
}
CASES_PER_SHARD = 1000
LEAST_OF_ATTRIBUTES = 25  # cases of a pair of attributes; upstream leaves rarer pairs out
SYMMETRIC = frozenset(  # relations whose false caption may also be true; upstream's list
    """
adjusting;attached to;between;bigger than;biting;boarding;brushing;chewing;cleaning;climbing;
close to;coming from;coming out of;contain;crossing;dragging;draped over;drinking;drinking from;
driving;driving down;driving on;eating from;eating in;enclosing;exiting;facing;filled with;
floating in;floating on;flying;flying above;flying in;flying over;flying through;full of;
going down;going into;going through;grazing in;growing in;growing on;guiding;hanging from;
hanging in;hanging off;hanging over;higher than;holding onto;hugging;in between;jumping off;
jumping on;jumping over;kept in;larger than;leading;leaning over;leaving;licking;longer than;
looking in;looking into;looking out;looking over;looking through;lying next to;lying on top of;
making;mixed with;mounted on;moving;on the back of;on the edge of;on the front of;
on the other side of;opening;painted on;parked at;parked beside;parked by;parked in;
parked in front of;parked near;parked next to;perched on;petting;piled on;playing;playing in;
playing on;playing with;pouring;reaching for;reading;reflected on;riding on;running in;running on;
running through;seen through;sitting behind;sitting beside;sitting by;sitting in front of;
sitting near;sitting next to;sitting under;skiing down;skiing on;sleeping in;sleeping on;
smiling at;sniffing;splashing;sprinkled on;stacked on;standing against;standing around;
standing behind;standing beside;standing in front of;standing near;standing next to;staring at;
stuck in;surrounding;swimming in;swinging;talking to;topped with;touching;traveling down;
traveling on;tying;typing on;underneath;wading in;waiting for;walking across;walking by;
walking down;walking next to;walking through;working in;working on;worn on;wrapped around;
wrapped in;by;of;near;next to;with;beside;on the side of;around
""".replace("\n", "").split(";")
)


@dataclass(frozen=True)
class Case:
    """An image, its crop box (left, top, right, bottom), and its candidate captions."""

    image: str
    box: tuple[int, int, int, int] | None
    captions: list[str]
    right: int
    kind: str | None


def import_aro(folder: Path, name: str, *, annotations: Path, shards: Path) -> Imported:
    """Write ARO's cases as tars into `shards` and return the block of corpus `name`.

    `annotations` is `visual_genome_relation.json`, `visual_genome_attribution.json` or the dumped
    order cases; `folder` has the images that it names. As upstream does, this leaves out relations
    of SYMMETRIC and pairs of attributes with fewer than LEAST_OF_ATTRIBUTES cases, puts the false
    caption first, and crops images to the box, losslessly. Of order cases it leaves out shuffles
    that equal the caption: upstream takes the first of equals, the right one. Raise InputError for
    a file of another form, for an image that is missing or cannot be decoded, and if no case is
    left.
    """
    form, cases = _read_cases(annotations)
    kept = _compared(form, cases)
    if not kept:
        raise InputError(
            f"{annotations}: 0 of {len(cases)} cases are left: all are of symmetric relations, of "
            f"pairs of attributes with fewer than {LEAST_OF_ATTRIBUTES} cases, or of captions "
            "that equal all their shuffles. Give the whole file."
        )
    shards.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, first in enumerate(range(0, len(kept), CASES_PER_SHARD)):
        paths.append(shards / f"{number:05d}.tar")
        with replaced(paths[-1]) as part, plain_tar(part) as add:
            for row, case in enumerate(kept[first : first + CASES_PER_SHARD]):
                fields = {"captions": case.captions, "right": case.right, "kind": case.kind}
                extension, image = _image(folder, case)
                add(f"{row:06d}.{extension}", image)
                add(f"{row:06d}.json", json.dumps(fields).encode())
    kinds = len({case.kind for case in kept})
    size, note = part_size(len(paths), len(kept))
    block = {
        "shards": file_patterns([str(path) for path in paths]),
        "shards_per_part": size,
        "captions": "none",
    }
    counted = (
        f"{len(kept):,} of {len(cases):,} cases in {many(len(paths), 'shard')}, "
        f"{many(kinds, 'kind')}; "
        f"{len(cases) - len(kept):,} of {_LEFT_OUT[form]} are left out"
    )
    return Imported({"corpora": {name: block}}, [counted, note])


def _compared(form: str, cases: list[Case]) -> list[Case]:
    """Return the cases that upstream's accuracies count."""
    if form == RELATION:
        return [case for case in cases if case.kind not in SYMMETRIC]
    if form == ORDER:
        return [case for case in cases if len(case.captions) > 1]
    counts = Counter(case.kind for case in cases)
    return [case for case in cases if counts[case.kind] >= LEAST_OF_ATTRIBUTES]


def _read_cases(path: Path) -> tuple[str, list[Case]]:
    """Return the form of a file, from a field of its first case, and its cases."""
    try:
        records = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}. Fetch it again.") from error
    first = records[0] if isinstance(records, list) and records else None
    forms = (RELATION, ATTRIBUTION, ORDER)
    form = next((each for each in forms if isinstance(first, dict) and each in first), None)
    if form is None:
        raise InputError(
            f"{path}: no list of cases with {', '.join(forms[:2])} or {ORDER}. Give ARO's "
            "visual_genome_relation.json, visual_genome_attribution.json or its order cases."
        )
    return form, [_case(form, each, f"{path}: case {at}") for at, each in enumerate(records)]


def _case(form: str, record: Any, place: str) -> Case:  # noqa: ANN401
    fields = record if isinstance(record, dict) else {}
    if form == ORDER:
        right, *shuffles = _texts(fields, ORDER, place)
        captions = [right, *(text for text in shuffles if text != right)]
        return Case(_text(fields, "image", place), None, captions, right=0, kind=None)
    left, top, width, height = (_number(fields, f"bbox_{side}", place) for side in "xywh")
    kind = (
        _text(fields, RELATION, place)
        if form == RELATION
        else "_".join(_texts(fields, ATTRIBUTION, place)[:2])
    )
    captions = [_text(fields, f"{truth}_caption", place) for truth in ("false", "true")]
    if width < 1 or height < 1:
        raise InputError(f"{place}: a box of {width} x {height} pixels. Fetch the file again.")
    box = (left, top, left + width, top + height)
    return Case(_text(fields, "image_path", place), box, captions, right=1, kind=kind)


def _text(fields: dict[str, Any], name: str, place: str) -> str:
    if not is_text(fields.get(name)):
        raise _malformed(fields, name, place, "a text")
    return str(fields[name])


def _texts(fields: dict[str, Any], name: str, place: str) -> list[str]:
    found = fields.get(name)
    if not isinstance(found, list) or len(found) < 2 or not all(map(is_text, found)):
        raise _malformed(fields, name, place, "a list of two texts or more")
    return found


def _number(fields: dict[str, Any], name: str, place: str) -> int:
    if type(fields.get(name)) is not int:
        raise _malformed(fields, name, place, "a whole number")
    return int(fields[name])


def _malformed(fields: dict[str, Any], name: str, place: str, what: str) -> InputError:
    return InputError(
        f"{place}: {name} is {shown_value(fields.get(name))}, not {what}. Fetch the file again."
    )


def _image(folder: Path, case: Case) -> tuple[str, bytes]:
    """Return the extension and the bytes of a case's image; a whole image keeps its own."""
    path = folder / case.image
    if not lies_within(path, link_home(folder)) or not path.is_file():
        raise InputError(
            f"{folder}: no image {plain(case.image)}, which the cases name. Give the folder that "
            "their paths start from."
        )
    data = path.read_bytes()
    try:
        picture = open_picture(data)
    except Unusable as error:
        raise InputError(f"{path}: {error.reason} {error.detail}. Fetch it again.") from error
    if case.box is None:
        return picture.format, data
    return "png", encoded(picture.rgb.crop(case.box), "png")
