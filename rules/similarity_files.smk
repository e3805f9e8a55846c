"""Which files and settings belong to the wildcards of the similarity audit; nothing computes."""

from clipaudit.config.prunings import kept_searches

SEARCHES = kept_searches(AUDIT)
PAIR_TESTS = pictured(RUN, [pair.test for pair in AUDIT.pairs.values()])
EVALUATED = pictured(RUN, [*AUDIT.test_sets, *AUDIT.control_sets]) or PAIR_TESTS


# --- prunings ----------------------------------------------------------------------------------


def pruning_base(wildcards):
    """The manifest of a part that a pruning starts from."""
    return (
        f"{RESULTS}/manifests/{wildcards.corpus}/{wildcards.base}/{wildcards.part}.json"
    )


def gap_test_sets(wildcards):
    """The test sets to whose gaps a pruning prunes."""
    pruning = f"{wildcards.base}.{wildcards.pruning}-pruned"
    return list(RUN.prunings(wildcards.corpus).gaps[pruning])


def order_cut(wildcards):
    """The settings of a cut through an order of samples."""
    return RUN.prunings(wildcards.corpus).cuts[f"{wildcards.base}.{wildcards.pruning}"]


def cut_order(wildcards):
    """The order that a cut goes through."""
    cut = order_cut(wildcards)
    return {"kind": cut.order, "test_sets": list(cut.test_sets), "seed": cut.seed}


def cut_size(wildcards):
    """How many samples a cut removes or keeps."""
    cut = order_cut(wildcards)
    return {"removed": cut.removed, "kept": cut.kept}


def ordered_by(wildcards, parts):
    """The tables of some parts that an order is read off."""
    if order_cut(wildcards).order == "semdedup":
        return {"duplicates": duplicate_groups(wildcards.corpus)}
    folder = f"{RESULTS}/similarities/{AUDIT.encoder}/{wildcards.corpus}"
    return {"similarities": [f"{folder}/{part}.json" for part in parts]}


def cut_inputs(wildcards):
    """What decides where an order is cut: all parts, and those of the set to be as large as."""
    corpus, cut = wildcards.corpus, order_cut(wildcards)
    like = by_part(f"manifests/{corpus}/{cut.like}", corpus) if cut.like else []
    return {
        "base": by_part(f"manifests/{corpus}/{wildcards.base}", corpus),
        "like": like,
        **ordered_by(wildcards, RUN.parts(corpus)),
    }


def pruned_at_cut_inputs(wildcards):
    """The tables of a part that its order is read off."""
    return ordered_by(wildcards, [wildcards.part])


# --- nearest neighbours ------------------------------------------------------------------------


def gap_neighbors(wildcards):
    """The small set's neighbors: they are the gaps that the large set is tested against."""
    if wildcards.corpus != AUDIT.large:
        return []
    return f"{RESULTS}/neighbors/{wildcards.encoder}/{AUDIT.small}.json"


def searched_manifest(wildcards):
    """The manifest of the part that a search among kept samples goes by; a split has none."""
    pruning = SEARCHES[wildcards.search].corpora[wildcards.corpus]
    if wildcards.corpus in SPLITS:
        return []
    return f"{RESULTS}/manifests/{wildcards.corpus}/{pruning}/{wildcards.part}.json"


# --- evaluation --------------------------------------------------------------------------------


def evaluated_architecture(recipe, manifest):
    """The name of the architecture of an evaluated model."""
    return (
        encoder_architecture(manifest)
        if recipe == "pretrained"
        else RUN.recipes[recipe].architecture
    )


def evaluated_weights(wildcards):
    """The files that an evaluated model's weights come from."""
    if wildcards.recipe == "pretrained":
        return encoder_files(wildcards.manifest)
    return trained(f"{wildcards.recipe}/{wildcards.manifest}")


def evaluated_model(wildcards):
    """The settings of an evaluated model."""
    if wildcards.recipe == "pretrained":
        return encoder_settings(wildcards.manifest)
    used = RUN.recipes[wildcards.recipe].architecture
    return {"encoder": None, "architecture": architecture(used)}


def evaluated_batch_size(wildcards):
    """How many images go through the model at once: the encoder's setting, or its default."""
    if wildcards.recipe == "pretrained":
        return RUN.encoders[wildcards.manifest].batch_size
    return Encoder.model_fields["batch_size"].default


def prediction_outputs(test_sets):
    """The predictions on some test sets, an output each."""
    folder = f"{RESULTS}/predictions/{{recipe}}/{{manifest}}"
    return {test_set: f"{folder}/{test_set}.json" for test_set in test_sets}


def pair_test_sets():
    """The test sets of the further pairs that are not evaluated anyway."""
    return [name for name in dict.fromkeys(PAIR_TESTS) if name not in EVALUATED]


def classified():
    """The test sets with the classes of the small set: those that classifiers know."""
    labels = RUN.corpora[AUDIT.small].labels
    return [
        name
        for name in pictured(RUN, AUDIT.test_sets)
        if RUN.corpora[name].labels == labels
    ]


def classified_model(wildcards):
    """The settings of an evaluated classifier, trained here or brought along."""
    if wildcards.recipe == "classifier":
        classifier = RUN.classifiers[wildcards.manifest]
        return {"classifier": classifier.model_dump(mode="json"), "recipe": None}
    recipe = RUN.supervised_recipes[wildcards.recipe]
    return {"classifier": None, "recipe": recipe.model_dump(mode="json")}


def classifier_weights(wildcards):
    """The file that a classifier's weights come from; a name of timm's has none."""
    if wildcards.recipe != "classifier":
        return trained(f"{wildcards.recipe}/{wildcards.manifest}")
    return brought(RUN.classifiers[wildcards.manifest].checkpoint)


def classified_batch_size(wildcards):
    """How many images go through a classifier at once."""
    if wildcards.recipe == "classifier":
        return RUN.classifiers[wildcards.manifest].batch_size
    return RUN.supervised_recipes[wildcards.recipe].batch_size
