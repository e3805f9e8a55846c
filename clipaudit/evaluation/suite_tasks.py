"""Lists the tasks of the DataComp benchmark, with metrics and tracks, and finds them in a folder.

Gadre et al., NeurIPS 2023 (https://arxiv.org/abs/2304.14108); names and main metrics are those of
mlfoundations/datacomp's tasklist.yml, tracks those of its aggregate_scores.py, and "Others" are the
tasks that these leave out. 38 tasks have a main metric and form the average; FairFace and UTKFace
have none. Difference: the retrieval sets are those that CLIP_benchmark publishes as webdatasets;
DataComp takes the same images from Hugging Face, under other names. An earlier tasklist.yml had
retrieval/flickr30k, the recall on all 31,014 images of Flickr30k, not on these 1,000.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clipaudit.errors import InputError

Kind = Literal["classification", "retrieval", "associations"]
Track = Literal["ImageNet", "ImageNet dist. shifts", "VTAB", "Retrieval", "Others"]

ACCURACY = "acc1"
RECALL = "mean_per_class_recall"
RETRIEVAL = "mean_recall@1"  # of images and of texts, the mean of the two
MACRO_F1 = "F1-macro_all"  # over the classes that occur
WORST_GROUP = "acc_wg"  # accuracy in the group of images with the lowest one
WORST_REGION = "acc_worst_region"  # the same
WORST_GROUP_TOP5 = "acc_top5_wg"  # the same of the five likeliest classes
JACCARD = "jaccard_score_10-12"  # of chosen and right images, among ten or more


@dataclass(frozen=True)
class SuiteTask:
    """A task; `name` is DataComp's, `folder` CLIP_benchmark's name of its webdataset if different.

    `missing` says why it cannot be computed here, and is empty if it can. `main` is the name of the
    main metric, None if DataComp has none and leaves the task out of the average.
    """

    name: str
    title: str
    track: Track = "Others"
    main: str | None = ACCURACY
    kind: Kind = "classification"
    missing: str = ""
    other_folder: str = ""

    @property
    def in_groups(self) -> bool:
        """Return whether its main metric is the worst group's (the group is first in `.npy`)."""
        return self.main in (WORST_GROUP, WORST_REGION, WORST_GROUP_TOP5)

    @property
    def folder(self) -> str:
        """Return the folder of CLIP_benchmark's webdataset: wds/<folder>."""
        return self.other_folder or self.name

    def folders(self) -> tuple[str, ...]:
        """Return the folder names that it may have: CLIP_benchmark's, then DataComp's.

        >>> SuiteTask("vtab/dtd", "Describable Textures").folders()
        ('vtab/dtd', 'vtab-dtd', 'wds_vtab-dtd', 'wds_vtab-dtd_test')
        """
        # the two differ only in CIFAR-10; DataComp has no such folders of its retrieval sets
        names = [self.folder] if self.kind == "retrieval" else [self.folder, self.name]
        flat = [name.replace("/", "-") for name in names]
        plain = [each for pair in zip(names, flat, strict=True) for each in pair]
        prefixed = [f"wds_{name}{end}" for end in ("", "_test") for name in flat]
        return tuple(dict.fromkeys([*plain, *prefixed]))


_NO_MAIN = "no main metric: DataComp leaves it out of the 38, and of every average"

# in the order of tasklist.yml
TASKS = (
    SuiteTask("vtab/caltech101", "Caltech-101", "VTAB", RECALL),
    SuiteTask("cifar10", "CIFAR-10", other_folder="vtab/cifar10"),
    SuiteTask("vtab/cifar100", "CIFAR-100", "VTAB"),
    SuiteTask("vtab/clevr_count_all", "CLEVR Counts", "VTAB"),
    SuiteTask("vtab/clevr_closest_object_distance", "CLEVR Distance", "VTAB"),
    SuiteTask("country211", "Country211"),
    SuiteTask("vtab/dtd", "Describable Textures", "VTAB"),
    SuiteTask("vtab/eurosat", "EuroSAT", "VTAB"),
    SuiteTask("fgvc_aircraft", "FGVC Aircraft", main=RECALL),
    SuiteTask("food101", "Food-101"),
    SuiteTask("gtsrb", "GTSRB"),
    SuiteTask("imagenet1k", "ImageNet 1k", "ImageNet"),
    SuiteTask("imagenet_sketch", "ImageNet Sketch", "ImageNet dist. shifts"),
    SuiteTask("imagenetv2", "ImageNet v2", "ImageNet dist. shifts"),
    SuiteTask("imagenet-a", "ImageNet-A", "ImageNet dist. shifts"),
    SuiteTask("imagenet-o", "ImageNet-O", "ImageNet dist. shifts"),
    SuiteTask("imagenet-r", "ImageNet-R", "ImageNet dist. shifts"),
    SuiteTask("vtab/kitti_closest_vehicle_distance", "KITTI Vehicle Distance", "VTAB"),
    SuiteTask("mnist", "MNIST"),
    SuiteTask("objectnet", "ObjectNet", "ImageNet dist. shifts"),
    SuiteTask("vtab/flowers", "Oxford Flowers-102", "VTAB", RECALL),
    SuiteTask("vtab/pets", "Oxford-IIIT Pet", "VTAB", RECALL),
    SuiteTask("voc2007", "Pascal VOC 2007"),
    SuiteTask("vtab/pcam", "PatchCamelyon", "VTAB"),
    SuiteTask("renderedsst2", "Rendered SST2"),
    SuiteTask("vtab/resisc45", "RESISC45", "VTAB"),
    SuiteTask("cars", "Stanford Cars"),
    SuiteTask("stl10", "STL-10"),
    SuiteTask("sun397", "SUN397", "VTAB"),
    SuiteTask("vtab/svhn", "SVHN", "VTAB"),
    SuiteTask(
        "retrieval/flickr_1k_test_image_text_retrieval",
        "Flickr",
        "Retrieval",
        RETRIEVAL,
        "retrieval",
        other_folder="flickr30k",
    ),
    SuiteTask(
        "retrieval/mscoco_2014_5k_test_image_text_retrieval",
        "MSCOCO",
        "Retrieval",
        RETRIEVAL,
        "retrieval",
        other_folder="mscoco_captions",
    ),
    SuiteTask(
        "misc/winogavil",
        "WinoGAViL",
        "Retrieval",
        JACCARD,
        "associations",
        other_folder="winogavil",
    ),
    SuiteTask("wilds/iwildcam", "iWildCam", main=MACRO_F1),
    SuiteTask("wilds/camelyon17", "Camelyon17"),
    SuiteTask("wilds/fmow", "FMoW", main=WORST_REGION),
    SuiteTask(
        "fairness/dollar_street",
        "Dollar Street",
        main=WORST_GROUP_TOP5,
        other_folder="dollar_street",
    ),
    SuiteTask("fairness/geode", "GeoDE", main=WORST_GROUP, other_folder="geode"),
    SuiteTask(
        "fairness/fairface", "FairFace", main=None, other_folder="fairface", missing=_NO_MAIN
    ),
    SuiteTask("fairness/utkface", "UTKFace", main=None, other_folder="utkface", missing=_NO_MAIN),
)


def available_tasks(root: Path) -> tuple[Mapping[SuiteTask, Path], Mapping[SuiteTask, str]]:
    """Return the folder of each task in `root`, and why each other one is skipped.

    Every one of TASKS is in exactly one of the two, in the order of TASKS. Raises InputError if
    `root` is not a folder, or has a task twice.
    """
    if not root.is_dir():
        raise InputError(
            f"{root}: no such folder. Give the folder of CLIP_benchmark's webdatasets, one for "
            "each task, such as vtab/caltech101."
        )
    found, skipped = {}, {}
    for task in TASKS:
        folders = [root / name for name in task.folders() if (root / name).is_dir()]
        if task.missing:
            skipped[task] = task.missing
        elif not folders:
            skipped[task] = f"no folder {' or '.join(task.folders())} in {root}"
        elif len(folders) > 1:
            raise InputError(
                f"{root}: {task.title} is there twice, {' and '.join(map(str, folders))}. "
                "Remove one of them."
            )
        else:
            found[task] = folders[0]
    return found, skipped


def task_named(name: str) -> SuiteTask:
    """Return the task with this name of DataComp's; raise KeyError for an unknown name."""
    return {task.name: task for task in TASKS}[name]
