"""Paths of results relative to the folder `results`: one pattern for each kind of pointer.

Rules state the paths of their outputs with the same patterns. Readers get a path here from the
names in its pattern.
"""

import re

PRETRAINED = "pretrained"  # stands for the recipe of encoders that were not trained here
CLASSIFIER = "classifier"  # the same for classifiers


class Pointers:
    """The paths of one kind of pointer.

    >>> manifest("small", "all", "00000")
    'manifests/small/all/00000.json'
    """

    def __init__(self, pattern: str) -> None:
        """Find the names in braces."""
        self.pattern = pattern
        self.names: list[str] = re.findall(r"{(\w+)}", pattern)

    def __call__(self, *names: str | int) -> str:
        """Return the path with these names, one for each name in the pattern, in its order."""
        return self.pattern.format(**dict(zip(self.names, names, strict=True)))


# the pointer of a part in a folder that has one for each part of a corpus
of_part = Pointers("{folder}/{corpus}/{part}.json")
# the rows of a part that a pruning keeps
manifest = Pointers("manifests/{corpus}/{pruning}/{part}.json")
# the embeddings of a part's images
embeddings = Pointers("embeddings/{encoder}/{corpus}/{part}.json")
# whether an encoder distinguishes the images of a corpus
encoder_check = Pointers("encoder_checks/{encoder}/{corpus}.json")
# a sample of a corpus's embeddings, placed on a plane
vector_map = Pointers("maps/{encoder}/{corpus}.json")
# candidate similarity thresholds for copies, and the chosen one
calibration_thresholds = Pointers("calibration/{encoder}/thresholds.json")
model = Pointers("models/{recipe}/{manifest}.json")  # a model trained here, after its last epoch
# a model trained here, after some epochs
checkpoint = Pointers("checkpoints/{recipe}/{manifest}/{epochs}.json")
# the losses and learning rates of a training run, by step
curves = Pointers("curves/{recipe}/{manifest}.json")
# what a model predicts for the images of a test set
predictions = Pointers("predictions/{recipe}/{manifest}/{test_set}.json")
# the duplicates within a group of clusters of a corpus
duplicates = Pointers("duplicates/{encoder}/{corpus}/{group}.json")
# results of a point's models under several random seeds: gaps, and single records
ensemble_gaps = Pointers("ensemble_gaps/{public}/{point}.json")
ensemble_records = Pointers("ensemble_records/{public}/{point}.json")
# which records of a source are in which set under another random seed
cut = Pointers("cuts/{records}/{cut}.json")
# how similar the samples of a part are to the test sets
similarities = Pointers("similarities/{encoder}/{corpus}/{part}.json")
# the nearest samples of a whole corpus to every sample of every test set
neighbors = Pointers("neighbors/{encoder}/{corpus}.json")
# the nearest samples among those of a corpus that a manifest keeps
kept_neighbors = Pointers("kept_neighbors/{encoder}/{search}/{corpus}.json")
# where the random order of a corpus is cut so that a set has its size
curation_cut = Pointers("curation_cuts/{corpus}/{curated}.json")
# where the samples of a repacked set come from; its shards are beside it
repacked = Pointers("repacked/{manifest}.json")
# a model's similarity of captions and images for a corpus's held-out samples
heldout_scores = Pointers("heldout_scores/{encoder}/{corpus}/all.json")
# what a model predicts for the images of a test set of the task list
tasks = Pointers("tasks/{encoder}/{test_set}.json")
# a model's predictions for a test set's images with a wrong class name printed on them
attacked = Pointers("attacked/{encoder}/{test_set}.json")
# how well a model retrieves a corpus's images by their captions, and captions by images
pair_ranks = Pointers("pair_ranks/{encoder}/{corpus}.json")
suite = Pointers("suite/{encoder}/{task}.json")  # clip_benchmark's results of a model on a task
task_results = Pointers("task_results/{encoder}.json")  # one number for each task of a model
# the gaps of the population at a point, over a public set
gaps = Pointers("gaps/{public}/{point}.json")
# the gaps of every record at a point, over a public set
sample_gaps = Pointers("sample_gaps/{public}/{point}.json")
# whether a model knows the pairs of a source that it trained on, against a hold-out
pair_test = Pointers("pair_tests/{encoder}/{source}/{holdout}.json")
# the same for the default models of all random seeds
pair_tests_over_seeds = Pointers("pair_tests_over_seeds/{source}/{holdout}.json")
# what a model recalls of a source beyond what captions alone reveal, against a hold-out
one_model = Pointers("one_model/{encoder}/{source}/{holdout}.json")
one_model_over_seeds = Pointers("one_model_over_seeds/{source}/{holdout}.json")
# what a model of the memorization audit predicts for the images of a test set
utility = Pointers("utility/{encoder}/{test_set}.json")
# the candidate caption that a model finds nearest, for every image of a set
selections = Pointers("selections/{encoder}/{name}.json")
# the most frequent words of a corpus, or pairs of them
vocabulary = Pointers("vocabularies/{corpus}/{name}.json")
# a model's similarity of a text and images that show only that text
probe = Pointers("probes/{encoder}/{corpus}/{vocabulary}.json")
table = Pointers("tables/{name}.json")  # a table of the report
figure = Pointers("figures/{name}.json")  # a figure of the report: the table that it shows
# a table of the report as Markdown, one of the readable forms
drawn_table = Pointers("tables/{name}.md.json")
# a figure of the report as Markdown, one of the readable forms
drawn_figure = Pointers("figures/{name}.md.json")
