"""Where results lie, relative to the folder `results`: one pattern for each kind of pointer.

Rules state where their own outputs lie, by the same patterns; whoever reads them asks here, with
the names that a pattern has.
"""

import re

PRETRAINED = "pretrained"  # stands for the recipe of encoders that were not trained here
CLASSIFIER = "classifier"  # and of classifiers that were not


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
        """Return the path with these names, as many as the pattern has, in its order."""
        return self.pattern.format(**dict(zip(self.names, names, strict=True)))


# the pointer of a part in a folder that has one for each part of a corpus
of_part = Pointers("{folder}/{corpus}/{part}.json")
# the rows of a part that a pruning keeps
manifest = Pointers("manifests/{corpus}/{pruning}/{part}.json")
# the embeddings of a part's pictures
embeddings = Pointers("embeddings/{encoder}/{corpus}/{part}.json")
# whether an encoder tells the pictures of a corpus apart
encoder_check = Pointers("encoder_checks/{encoder}/{corpus}.json")
# a sample of a corpus's embeddings, placed on a plane
vector_map = Pointers("maps/{encoder}/{corpus}.json")
# the similarities at which copies were looked for, and the one that was chosen
calibration_thresholds = Pointers("calibration/{encoder}/thresholds.json")
model = Pointers("models/{recipe}/{manifest}.json")  # a model trained here, as it is at its end
# a model trained here, as it was after some epochs
checkpoint = Pointers("checkpoints/{recipe}/{manifest}/{epochs}.json")
# the losses and learning rates of a training, by step
curves = Pointers("curves/{recipe}/{manifest}.json")
# what a model predicts for the images of a test set
predictions = Pointers("predictions/{recipe}/{manifest}/{test_set}.json")
# the duplicates within a group of clusters of a corpus
duplicates = Pointers("duplicates/{encoder}/{corpus}/{group}.json")
# what models of a point show under several seeds: gaps, and single records
ensemble_gaps = Pointers("ensemble_gaps/{public}/{point}.json")
ensemble_records = Pointers("ensemble_records/{public}/{point}.json")
# which records of a source are in which set under a further seed
cut = Pointers("cuts/{records}/{cut}.json")
# how similar the samples of a part are to the test sets
similarities = Pointers("similarities/{encoder}/{corpus}/{part}.json")
# the nearest samples of a whole corpus to every sample of every test set
neighbors = Pointers("neighbors/{encoder}/{corpus}.json")
# the nearest samples among those of a corpus that a manifest keeps
kept_neighbors = Pointers("kept_neighbors/{encoder}/{search}/{corpus}.json")
# where the random order of a corpus is cut so that a set has its size
curation_cut = Pointers("curation_cuts/{corpus}/{curated}.json")
# where the samples of a repacked set come from; its shards lie beside
repacked = Pointers("repacked/{manifest}.json")
# how similar a model finds the captions of a corpus's held-out samples to their pictures
heldout_scores = Pointers("heldout_scores/{encoder}/{corpus}/all.json")
# what a model predicts for the images of a test set of the task list
tasks = Pointers("tasks/{encoder}/{test_set}.json")
# what a model predicts where a wrong class's name is printed on the images of a test set
attacked = Pointers("attacked/{encoder}/{test_set}.json")
# how well a model finds the pictures of a corpus by their captions, and back
pair_ranks = Pointers("pair_ranks/{encoder}/{corpus}.json")
suite = Pointers("suite/{encoder}/{task}.json")  # what clip_benchmark says of a model on a task
task_results = Pointers("task_results/{encoder}.json")  # one number for each task of a model
# the gaps of the population at a point, over a public set
gaps = Pointers("gaps/{public}/{point}.json")
# the gaps of every record at a point, over a public set
sample_gaps = Pointers("sample_gaps/{public}/{point}.json")
# whether a model knows the pairs of a source that it trained on, against a hold-out
pair_test = Pointers("pair_tests/{encoder}/{source}/{holdout}.json")
# whether the default models of all seeds do
pair_tests_over_seeds = Pointers("pair_tests_over_seeds/{source}/{holdout}.json")
# what a model recalls of a source beyond what captions alone tell, against a hold-out
one_model = Pointers("one_model/{encoder}/{source}/{holdout}.json")
one_model_over_seeds = Pointers("one_model_over_seeds/{source}/{holdout}.json")
# what a model of the memorization audit predicts for the images of a test set
utility = Pointers("utility/{encoder}/{test_set}.json")
# which of its candidate captions a model finds nearest to every picture of a set
selections = Pointers("selections/{encoder}/{name}.json")
# the most frequent words of a corpus, or pairs of them
vocabulary = Pointers("vocabularies/{corpus}/{name}.json")
# how similar a model finds pictures of nothing but a text to that text
probe = Pointers("probes/{encoder}/{corpus}/{vocabulary}.json")
table = Pointers("tables/{name}.json")  # a table of the report
figure = Pointers("figures/{name}.json")  # a figure of the report: the table that it shows
# a table of the report as Markdown, one of the forms that people read
drawn_table = Pointers("tables/{name}.md.json")
# a figure of the report as Markdown, one of the forms that people read
drawn_figure = Pointers("figures/{name}.md.json")
