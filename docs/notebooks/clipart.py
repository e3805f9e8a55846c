# %% [markdown]
# # Audit clip art in a notebook
#
# This notebook runs the audits' computations on drawings of the Open Clip Art Library, with only
# the Python API ([In a notebook](../api.md) lists it). It takes a minute. First get the drawings
# with `make clipart`, or set `CLIPART` to a folder with `web/*.tar` and `test/*.tar`.
#
# Run it as a program, `python docs/notebooks/clipart.py`, or open it in Jupyter with jupytext. It
# saves its figures into the folder `figures`, or the one named by `FIGURES`.

# %%
import io
import json
import os
import tarfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import clipaudit

DATA = Path(os.environ.get("CLIPART", "data/clipart"))
FIGURES = Path(os.environ.get("FIGURES", "figures"))
FIGURES.mkdir(parents=True, exist_ok=True)
Image.MAX_IMAGE_PIXELS = 1_000_000  # Pillow refuses twice as many
rng = np.random.default_rng(0)


# %% [markdown]
# ## Read the drawings
#
# A sample of a webdataset tar is a few files with one name: the image, its caption and its
# metadata. Images of a single colour have nothing to compare, so they are left out, like images of
# more than two million pixels.


# %%
def samples(folder):
    """Return the samples of all tars of a folder: image, caption, metadata."""
    found = []
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as tar:
            files = {member.name: tar.extractfile(member).read() for member in tar}
        for name in (name for name in files if name.endswith(".png")):
            try:
                image = Image.open(io.BytesIO(files[name])).convert("RGB")
            except Image.DecompressionBombError:
                print(f"{name}: left out, too many pixels")
                continue
            image.thumbnail((96, 96))
            stem = name.removesuffix(".png")
            about = json.loads(files[f"{stem}.json"])
            if image.getextrema() != tuple((low, low) for low, _ in image.getextrema()):
                found.append((image, files[f"{stem}.txt"].decode(), about))
    return found


web, test = samples(DATA / "web"), samples(DATA / "test")
print(f"{len(web):,} training images, {len(test):,} test images")


# %%
def show(rows, titles, name):
    """Draw rows of images, a title above each, and save the figure."""
    size = (1.4 * len(rows[0]), 1.5 * len(rows))
    figure, axes = plt.subplots(
        len(rows), len(rows[0]), squeeze=False, figsize=size, layout="constrained"
    )
    for axis, row, above in zip(axes, rows, titles, strict=True):
        for place, image, title in zip(axis, row, above, strict=True):
            place.imshow(image)
            place.set_title(title, fontsize=8, parse_math=False)
            place.axis("off")
    figure.savefig(FIGURES / name, dpi=90)


chosen = rng.choice(len(web), 12, replace=False).reshape(2, 6)
captions = [[web[at][1][:22] for at in row] for row in chosen]
show([[web[at][0] for at in row] for row in chosen], captions, "notebook_samples.png")

# %% [markdown]
# ![Twelve drawings with their captions](../pictures/notebook_samples.png)
#
# ## Which test images have a near copy in the training set?
#
# An encoder turns an image into a vector. Here it is a very crude one, a thumbnail of 16 by 16
# pixels minus its mean; use your own model's vectors instead.


# %%
def embed(images):
    """Return a vector of each image: its pixels at 16 by 16, minus their mean."""
    small = [np.asarray(image.resize((16, 16)), np.float64).ravel() for image in images]
    return np.array(small) - np.mean(small, axis=1, keepdims=True) + 1e-3


train_vectors = embed([image for image, *_ in web])
test_vectors = embed([image for image, *_ in test])

# %% [markdown]
# `nearest` compares every pair and returns, for each test image, its k nearest training images.

# %%
found = clipaudit.nearest(test_vectors, train_vectors, k=3)
near = found.similarity[:, 0] > 0.99
print(f"{near.sum()} of {len(test)} test images have a training image above 0.99")

# %% [markdown]
# Six pairs from 0.999 down to 0.95. Similar thumbnails do not prove a copy: the audit `copies`
# compares the pixels. 259 of the 628 test drawings have a training drawing above 0.99.

# %%
order = np.argsort(-found.similarity[:, 0], kind="stable")
pairs = [at for at in order if 0.95 < found.similarity[at, 0] < 0.999]
pairs = pairs[:: max(1, len(pairs) // 6)][:6]
matches = [web[found.rows[at, 0]][0] for at in pairs]
scores = [f"{found.similarity[at, 0]:.3f}" for at in pairs]
titles = [["test"] * len(pairs), scores]
show([[test[at][0] for at in pairs], matches], titles, "notebook_pairs.png")

# %% [markdown]
# ![Six test drawings above their nearest training drawings](../pictures/notebook_pairs.png)
#
# ## Prune the training set to the gap
#
# [The gap](../concepts/gap.md) rule removes a training image that is closer to some test image
# than every image of a small reference set. Here a random fifth of the training images is the
# reference. It removes 1,700 of 5,837 drawings.

# %%
reference = rng.random(len(web)) < 0.2
large = np.flatnonzero(~reference)
kept = clipaudit.kept_by_gap(train_vectors[large], train_vectors[reference], test_vectors)
print(f"{kept.sum():,} of {len(large):,} images stay; {(~kept).sum():,} are removed")

# %% [markdown]
# Some of the removed images, each above its most similar test image.

# %%
removed = large[~kept]
by = clipaudit.nearest(train_vectors[removed], test_vectors)
first = np.argsort(-by.similarity[:, 0], kind="stable")[:: max(1, len(removed) // 6)][:6]
rows = [[web[removed[at]][0] for at in first], [test[by.rows[at, 0]][0] for at in first]]
names = [["removed"] * len(first), [f"{by.similarity[at, 0]:.3f}" for at in first]]
show(rows, names, "notebook_removed.png")

# %% [markdown]
# ![Removed drawings above similar test drawings](../pictures/notebook_removed.png)
#
# ## Do captions repeat the text in the image?
#
# [CoTR](../concepts/cotr.md) is the share of a caption's words that are also in the image. Clip
# art states its text in the metadata; for photos, OCR reads it. 80 of 303 drawings with text
# have a caption that repeats a word of it.

# %%
written = [(image, caption, about["text"]) for image, caption, about in web if about.get("text")]
rates = clipaudit.cotr([caption for _, caption, _ in written], [text for *_, text in written])
parrots = np.flatnonzero(rates > 0)
print(f"{len(written)} images state text; {len(parrots)} captions repeat a word of it")

# %%
shown = parrots[np.argsort(-rates[parrots], kind="stable")][:6]
titles = [f"{rates[at]:.2f} {written[at][1][:20]}" for at in shown]
show([[written[at][0] for at in shown]], [titles], "notebook_text.png")

# %% [markdown]
# ![Drawings whose captions repeat their text, with the rate](../pictures/notebook_text.png)
#
# ## Does a model remember its training images?
#
# [Déjà vu](../concepts/deja_vu.md) needs two models trained on disjoint records, A and B. A model
# here is a linear map from the words of a caption to the vector of an image, fitted to its
# records. The keywords of a drawing stand for its objects.

# %%
labelled = [at for at, (_, _, about) in enumerate(web) if about.get("keywords")]
labelled = rng.permutation(labelled)[:1800]
a, b, public = np.array_split(labelled, 3)
words = sorted({word for at in labelled for word in web[at][1].lower().split()})
place = {word: number for number, word in enumerate(words)}
bags = np.zeros((len(web), len(words)))
for at in labelled:
    bags[at, [place[word] for word in web[at][1].lower().split()]] = 1


# %%
def model(records, asked):
    """Fit the map by ridge regression; return the vectors of captions and of public images."""
    x, y = bags[records], train_vectors[records] / 255
    weights = x.T @ np.linalg.solve(x @ x.T + 0.1 * np.eye(len(x)), y)
    return clipaudit.Embedded(bags[asked] @ weights + 1e-6, train_vectors[public])


asked = np.concatenate([a, b])
seen_by = ["target"] * len(a) + ["reference"] * len(b)
objects = [web[at][2]["keywords"] for at in asked]
public_objects = [web[at][2]["keywords"] for at in public]
gaps = clipaudit.deja_vu_gaps(
    model(a, asked), model(b, asked), objects, public_objects, seen_by=seen_by
)
for name, gap in gaps.items():
    print(f"{name:15} {gap.value:.3f} [{gap.low:.3f}, {gap.high:.3f}]")

# %% [markdown]
# The gap is a model's recall on its own records minus the other model's recall on them. An
# interval above zero means that the models remember. On clip art PRG is 0.13 [0.10, 0.17].

# %%
figure, axis = plt.subplots(figsize=(5, 2.5), layout="constrained")
values = np.array([[gap.value, gap.low, gap.high] for gap in gaps.values()])
axis.errorbar(values[:, 0], list(gaps), xerr=np.abs(values[:, 1:] - values[:, :1]).T, fmt="o")
axis.axvline(0, color="grey")
axis.set_xlabel("gap, with its 95 % interval")
figure.savefig(FIGURES / "notebook_gaps.png", dpi=90)

# %% [markdown]
# ![Four gaps of the two models with their intervals](../pictures/notebook_gaps.png)
#
# ## Next
#
# `clipaudit audit` does the same for whole sets of shards, with pixel comparison and OCR, and
# writes a report ([quickstart](../quickstart.md)). `clipaudit.open_catalog` opens the tables of
# such a run.
