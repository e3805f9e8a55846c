"""Runs the peers of auditspeed.py on the images of some tars, each in its own environment.

    python auditpeers.py resize FOLDER train

`auditspeed.py` runs this with the Python of an environment that has the peer and not clipaudit.
The last line printed is JSON: the number of images, and this process's CPU and wall seconds,
without imports and without loading models. One thread.
"""

import glob
import hashlib
import io
import json
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

BATCH = 256  # images per forward pass, the default of both sides


def resize(folder: Path, name: str) -> Callable[[], int]:
    """Return img2dataset's processing of a downloaded file, with its defaults.

    SHA-256 of the file, decoding, resizing to 256 pixels, encoding as JPEG. Reading EXIF and
    writing tars are left out.
    """
    import webdataset
    from img2dataset.resizer import Resizer

    resizer = Resizer(image_size=256, resize_mode="border", resize_only_if_bigger=False)

    def work() -> int:
        done = 0
        for sample in webdataset.WebDataset(tars(folder / name), shardshuffle=False):
            hashlib.sha256(sample["jpg"]).hexdigest()
            *_, error = resizer(io.BytesIO(sample["jpg"]))
            assert error is None, error
            done += 1
        return done

    return work


def prepare(kind: str, folder: Path, name: str) -> Callable[[], int]:
    """Return clip-retrieval's reading, decoding and preparing, without a model."""
    from clip_retrieval.clip_inference.reader import WebdatasetReader

    if kind == "open_clip":
        from open_clip.transform import PreprocessCfg, image_transform_v2

        preparation = image_transform_v2(PreprocessCfg(), is_train=False)
    else:
        preparation = loaded(folder / "models" / name)
    reader = WebdatasetReader(
        list, preparation, None, tars(folder / name), BATCH, 0, enable_text=False
    )
    return lambda: sum(len(batch["image_tensor"]) for batch in reader)


def embed(folder: Path, name: str) -> Callable[[], int]:
    """Return clip-retrieval's inference; the embeddings go to peer_NAME.npy in the folder."""
    import numpy as np
    from clip_retrieval.clip_inference import clip_inference

    model, output = folder / "models" / name, folder / f"peer_{name}"
    loaded(model)
    shutil.rmtree(output, ignore_errors=True)

    def work() -> int:
        clip_inference(
            input_dataset=f"{folder / name}/{{00000..{len(tars(folder / name)) - 1:05d}}}.tar",
            output_folder=str(output),
            input_format="webdataset",
            output_partition_count=1,
            enable_text=False,
            batch_size=BATCH,
            num_prepro_workers=0,
            clip_model=f"hf_clip:{model}",
        )
        rows = [np.load(path) for path in sorted(glob.glob(f"{output}/img_emb/*.npy"))]
        np.save(folder / f"peer_{name}.npy", np.concatenate(rows))
        return sum(map(len, rows))

    return work


def loaded(model: Path) -> Callable[..., object]:
    """Load a model into the cache that inference uses; return its image preparation."""
    from all_clip import load_clip

    name = f"hf_clip:{model}"
    return load_clip(clip_model=name, use_jit=False, warmup_batch_size=BATCH, clip_cache_path=None)[
        1
    ]


def tars(folder: Path) -> list[str]:
    """Return the tars of a set."""
    return sorted(map(str, folder.glob("*.tar")))


TASKS = {
    "resize": resize,
    "prepare-transformers": partial(prepare, "transformers"),
    "prepare-open_clip": partial(prepare, "open_clip"),
    "embed": embed,
}


def main(task: str, folder: Path, name: str) -> None:
    """Do a task and print its cost."""
    work = TASKS[task](folder, name)
    cpu, wall = time.process_time(), time.perf_counter()
    count = work()
    taken = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    print()  # clip-retrieval's log ends in the middle of a line
    print(json.dumps({"count": count, **taken}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
