"""Where results lie, relative to the folder `results`: one function for each kind of pointer.

Rules state where their own outputs lie; whoever reads them asks here.
"""

PRETRAINED = "pretrained"  # stands for the recipe of encoders that were not trained here
CLASSIFIER = "classifier"  # and of classifiers that were not


def of_part(folder: str, corpus: str, part: str) -> str:
    """Return the pointer of a part in a folder that has one for each part of a corpus.

    >>> of_part("samples", "small", "00000")
    'samples/small/00000.json'
    """
    return f"{folder}/{corpus}/{part}.json"


def manifest(corpus: str, pruning: str, part: str) -> str:
    """Return the rows of a part that a pruning keeps."""
    return f"manifests/{corpus}/{pruning}/{part}.json"


def embeddings(encoder: str, corpus: str, part: str) -> str:
    """Return the embeddings of a part's pictures."""
    return f"embeddings/{encoder}/{corpus}/{part}.json"


def model(recipe: str, manifest: str) -> str:
    """Return a model trained here, as it is at its end."""
    return f"models/{recipe}/{manifest}.json"


def checkpoint(recipe: str, manifest: str, epochs: int) -> str:
    """Return a model trained here, as it was after some epochs."""
    return f"checkpoints/{recipe}/{manifest}/{epochs}.json"


def curves(recipe: str, manifest: str) -> str:
    """Return the losses and learning rates of a training, by step."""
    return f"curves/{recipe}/{manifest}.json"


def predictions(recipe: str, manifest: str, test_set: str) -> str:
    """Return what a model predicts for the images of a test set."""
    return f"predictions/{recipe}/{manifest}/{test_set}.json"


def duplicates(encoder: str, corpus: str, group: str) -> str:
    """Return the duplicates within a group of clusters of a corpus."""
    return f"duplicates/{encoder}/{corpus}/{group}.json"


def similarities(encoder: str, corpus: str, part: str) -> str:
    """Return how similar the samples of a part are to the test sets."""
    return f"similarities/{encoder}/{corpus}/{part}.json"


def neighbors(encoder: str, corpus: str) -> str:
    """Return the nearest samples of a whole corpus to every sample of every test set."""
    return f"neighbors/{encoder}/{corpus}.json"


def kept_neighbors(encoder: str, search: str, corpus: str) -> str:
    """Return the nearest samples among those of a corpus that a manifest keeps."""
    return f"kept_neighbors/{encoder}/{search}/{corpus}.json"


def curation_cut(corpus: str, curated: str) -> str:
    """Return where the random order of a corpus is cut so that a set has its size."""
    return f"curation_cuts/{corpus}/{curated}.json"


def tasks(encoder: str, test_set: str) -> str:
    """Return what a model predicts for the images of a test set of the task list."""
    return f"tasks/{encoder}/{test_set}.json"


def pair_ranks(encoder: str, corpus: str) -> str:
    """Return how well a model finds the pictures of a corpus by their captions, and back."""
    return f"pair_ranks/{encoder}/{corpus}.json"


def suite(encoder: str, task: str) -> str:
    """Return what clip_benchmark says of a model on a task."""
    return f"suite/{encoder}/{task}.json"


def task_results(encoder: str) -> str:
    """Return one number for each task of a model."""
    return f"task_results/{encoder}.json"


def gaps(public: str, point: str) -> str:
    """Return the gaps of the population at a point, over a public set."""
    return f"gaps/{public}/{point}.json"


def sample_gaps(public: str, point: str) -> str:
    """Return the gaps of every record at a point, over a public set."""
    return f"sample_gaps/{public}/{point}.json"


def utility(encoder: str, test_set: str) -> str:
    """Return what a model of the memorization audit predicts for the images of a test set."""
    return f"utility/{encoder}/{test_set}.json"


def selections(encoder: str, name: str) -> str:
    """Return which of its candidate captions a model finds nearest to every picture of a set."""
    return f"selections/{encoder}/{name}.json"


def vocabulary(corpus: str, name: str) -> str:
    """Return the most frequent words of a corpus, or pairs of them."""
    return f"vocabularies/{corpus}/{name}.json"


def probe(encoder: str, corpus: str, vocabulary: str) -> str:
    """Return how similar a model finds pictures of nothing but a text to that text."""
    return f"probes/{encoder}/{corpus}/{vocabulary}.json"


def table(name: str) -> str:
    """Return a table of the report."""
    return f"tables/{name}.json"


def figure(name: str) -> str:
    """Return a figure of the report: the table that it shows."""
    return f"figures/{name}.json"


def drawn_table(name: str) -> str:
    """Return a table of the report as Markdown, one of the forms that people read."""
    return f"tables/{name}.md.json"


def drawn_figure(name: str) -> str:
    """Return a figure of the report as Markdown, one of the forms that people read."""
    return f"figures/{name}.md.json"
