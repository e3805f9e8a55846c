"""Measures how far bfloat16 moves embeddings: python benchmarks/precision.py, after the demo.

Embeds the first images of a corpus by a model that was trained there, in float32 and in bfloat16,
on the CPU, and prints how far the similarities of all pairs move. Options: --settings, --encoder,
--corpus, --images.
"""

import argparse
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.embeddings.embedding import embed_arrays
from clipaudit.models.clip import from_checkpoint
from clipaudit.models.clip_features import ClipEmbedder


def main() -> None:
    """Embed twice and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=Path, default=Path("config/demo.yaml"))
    parser.add_argument("--encoder", default="own")
    parser.add_argument("--corpus", default="large")
    parser.add_argument("--images", type=int, default=400)
    asked = parser.parse_args()
    run = parse_settings(read_settings(asked.settings))
    model = run.encoders[asked.encoder].model
    recipe, _, manifest = model.partition("/")
    weights = Path(run.results) / "models" / recipe / f"{manifest}.safetensors"
    clip = from_checkpoint(run.architectures[run.recipes[recipe].architecture], weights)
    samples = (each for path in run.shards(asked.corpus) for each in raw_samples(Path(path)))
    files = (first_image(each.members) for each in islice(samples, asked.images))
    images = [np.asarray(open_picture(file).rgb) for file in files if file]
    exact, rough = (
        embed_arrays(images, ClipEmbedder(replace(clip, precision=each), torch.device("cpu")))
        for each in ("fp32", "amp_bf16")
    )
    above = np.triu_indices(len(images), 1)
    similar = [each.astype(float) @ each.astype(float).T for each in (exact, rough)]
    moved = np.abs(similar[0] - similar[1])[above]
    quantiles = ", ".join(f"{np.quantile(moved, q):.4f}" for q in (0.5, 0.99, 1))
    print(f"{len(images)} images by {model}: similarities of pairs move by {quantiles}")
    print(f"(median, 99 %, most); their standard deviation is {similar[0][above].std():.2f}.")
    for each in similar:
        np.fill_diagonal(each, -2)
    same = np.mean(similar[0].argmax(axis=1) == similar[1].argmax(axis=1))
    print(f"The nearest image is the same for {same:.0%}.")


if __name__ == "__main__":
    main()
