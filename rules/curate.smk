"""Scores -> sets of equal size -> results of models trained on them.

Inputs: `parrot.curations`; matches and caption scores of its corpus; test sets, retrieval corpora
and the suite's webdatasets, if the settings name some; scores and words that a filter uses.
Outputs: given_scores/<corpus>.json; curation_cuts/<corpus>/<set>.json; manifests/<corpus>/<set>/ by
part; heldout/<corpus>/, heldout_spans/<corpus>/, heldout_matches/<corpus>/ by part; collected/<corpus>/,
collected_places/<corpus>/, collected_spans/<corpus>/ by part; repacked/<manifest>.json and its
shards in repacked/<manifest>.shards/, sealed/<manifest>.json of sets that are repacked;
heldout_scores/<encoder>/<corpus>/all.json; tasks/<encoder>/<test set>.json;
attacked/<encoder>/<test set>.json;
picture_centroids/<encoder>.json; candidates/<encoder>/<corpus>/ by part;
candidate_duplicates/<encoder>/<corpus>/ by group of clusters; pair_ranks/<encoder>/<corpus>.json;
suite/<encoder>/<task>.json; task_results/<encoder>.json.
"""

from clipaudit.parrot.curated import HELDOUT

if PARROT.given_scores is not None:

    rule sort_scores:
        """Precomputed scores of a corpus, in the order of its samples."""
        input:
            samples=CORPORA.gathered_parts("samples/{corpus}"),
            files=CORPORA.brought(*PARROT.given_scores.paths),
        output:
            scores=f"{RESULTS}/given_scores/{{corpus}}.json",
        log:
            "logs/sort_scores/{corpus}.log",
        wildcard_constraints:
            corpus=PARROT.audit.curations.corpus,
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("sort_scores"),
            states=CORPORA.states(CORPORA.brought(*PARROT.given_scores.paths)),
            join=PARROT.given_scores.model_dump(include={"column", "join_on", "score"}),
        script:
            "../workflow_scripts/sort_scores.py"


if PARROT.audit.curations is not None:

    rule cut_curation:
        """Where the random order is cut, so that a set has its size."""
        input:
            unpack(PARROT.cut_inputs),
        output:
            cut=f"{RESULTS}/curation_cuts/{{corpus}}/{{curated}}.json",
        log:
            "logs/cut_curation/{corpus}/{curated}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(32),
        params:
            code=code("cut_curation"),
            states=CORPORA.states(PARROT.cut_inputs),
            curation=PARROT.curation,
            held_out=PARROT.held_out,
            aesthetics_field=PARROT.aesthetics_field,
            threshold=PARROT.duplicate_threshold,
        script:
            "../workflow_scripts/cut_curation.py"

    rule curate:
        """The manifest of a part of a set: every other row has the reason for its removal."""
        input:
            unpack(PARROT.curate_inputs),
            manifest_cut=f"{RESULTS}/curation_cuts/{{corpus}}/{{curated}}.json",
        output:
            manifest=f"{RESULTS}/manifests/{{corpus}}/{{curated}}/{{part}}.json",
        log:
            "logs/curate/{corpus}/{curated}/{part}.log",
        wildcard_constraints:
            curated=one_of(PARROT.apart),
        conda:
            ENVIRONMENT
        params:
            code=code("curate"),
            states=CORPORA.states(PARROT.curate_inputs),
            renamed=["curated"],
            shards=CORPORA.shard_numbers,
            curations=PARROT.one_curation,
            held_out=PARROT.held_out,
            aesthetics_field=PARROT.aesthetics_field,
            threshold=PARROT.duplicate_threshold,
        script:
            "../workflow_scripts/curate.py"

    use rule curate as curate_heldout with:
        input:
            unpack(PARROT.inputs_of(HELDOUT)),
        output:
            **PARROT.manifests_of(HELDOUT),
        log:
            "logs/curate_heldout/{corpus}/{part}.log",
        params:
            code=code("curate"),
            script="curate",
            states=CORPORA.states(PARROT.inputs_of(HELDOUT)),
            shards=CORPORA.shard_numbers,
            curations=PARROT.curations_of(HELDOUT),
            held_out=[],
            aesthetics_field=None,
            threshold=None,

    if PARROT.together:

        use rule curate as curate_together with:
            input:
                unpack(PARROT.inputs_of(PARROT.together)),
            output:
                **PARROT.manifests_of(PARROT.together),
            log:
                "logs/curate_together/{corpus}/{part}.log",
            params:
                code=code("curate"),
                script="curate",
                states=CORPORA.states(PARROT.inputs_of(PARROT.together)),
                shards=CORPORA.shard_numbers,
                curations=PARROT.curations_of(PARROT.together),
                held_out=PARROT.all_held_out(),
                aesthetics_field=None,
                threshold=None,

    if PARROT.audit.deduplication is not None:

        rule cluster_centroids:
            """The centroids of the clusters of images, in the space of embeddings."""
            input:
                clustering=f"{RESULTS}/picture_clusters/{{encoder}}/{PARROT.profiled}.json",
            output:
                centroids=f"{RESULTS}/picture_centroids/{{encoder}}.json",
            log:
                "logs/cluster_centroids/{encoder}.log",
            conda:
                ENVIRONMENT
            params:
                code=code("cluster_centroids"),
            script:
                "../workflow_scripts/cluster_centroids.py"

        rule cluster_candidates:
            """The embeddings, by cluster, of a part's debiasing candidates, duplicates included."""
            input:
                unpack(PARROT.candidate_inputs),
                embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
                placed=f"{RESULTS}/placed/{{encoder}}/{{corpus}}/{{part}}.json",
                centroids=f"{RESULTS}/picture_centroids/{{encoder}}.json",
            output:
                clustered=f"{RESULTS}/candidates/{{encoder}}/{{corpus}}/{{part}}.json",
            log:
                "logs/cluster_candidates/{encoder}/{corpus}/{part}.log",
            conda:
                ENVIRONMENT
            params:
                code=code("cluster_candidates"),
                states=CORPORA.states(PARROT.candidate_inputs),
                curation=PARROT.curation,
                held_out=PARROT.held_out,
                aesthetics_field=PARROT.aesthetics_field,
            script:
                "../workflow_scripts/cluster_candidates.py"

        rule duplicates_of_candidates:
            """The similarity of each candidate in a group of clusters to its earlier duplicate."""
            input:
                clustered=CORPORA.all_parts("candidates/{encoder}/{corpus}"),
                centroids=f"{RESULTS}/picture_centroids/{{encoder}}.json",
            output:
                duplicates=f"{RESULTS}/candidate_duplicates/{{encoder}}/{{corpus}}/{{group}}.json",
            log:
                "logs/duplicates_of_candidates/{encoder}/{corpus}/{group}.log",
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(16),
            params:
                code=code("duplicates"),
                script="duplicates",
                group=PARROT.duplicate_group,
                removal_rule=PARROT.audit.deduplication.rule,
                floor=PARROT.audit.deduplication.floor(),
            script:
                "../workflow_scripts/duplicates.py"

    rule heldout:
        """The samples of a part that are held out of all sets, and the text in them."""
        input:
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            spans=f"{RESULTS}/spans/{{corpus}}/{{part}}.json",
            matches=f"{RESULTS}/matches/{{corpus}}/{{part}}.json",
            manifests=[
                f"{RESULTS}/manifests/{{corpus}}/{name}/{{part}}.json"
                for name in HELDOUT
            ],
        output:
            samples=f"{RESULTS}/heldout/{{corpus}}/{{part}}.json",
            spans=f"{RESULTS}/heldout_spans/{{corpus}}/{{part}}.json",
            matches=f"{RESULTS}/heldout_matches/{{corpus}}/{{part}}.json",
        log:
            "logs/heldout/{corpus}/{part}.log",
        conda:
            ENVIRONMENT
        params:
            code=code("heldout"),
        script:
            "../workflow_scripts/heldout.py"

    rule collect:
        """The samples of a part that repacked sets keep, read from its tars once for all sets."""
        input:
            tars=CORPORA.part_tars,
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            spans=f"{RESULTS}/spans/{{corpus}}/{{part}}.json",
            manifests=PARROT.collected_manifests,
        output:
            collected=f"{RESULTS}/collected/{{corpus}}/{{part}}.json",
            places=f"{RESULTS}/collected_places/{{corpus}}/{{part}}.json",
            spans=f"{RESULTS}/collected_spans/{{corpus}}/{{part}}.json",
        log:
            "logs/collect/{corpus}/{part}.log",
        conda:
            ENVIRONMENT
        params:
            code=code("collect"),
            shards=CORPORA.shard_numbers,
        script:
            "../workflow_scripts/collect.py"

    rule repack:
        """A set as its own shards, in a random order; in controls, the samples are changed."""
        input:
            unpack(PARROT.repack_inputs),
        output:
            sources=f"{RESULTS}/repacked/{{manifest}}.json",
            sealed=f"{RESULTS}/sealed/{{manifest}}.json",
        log:
            "logs/repack/{manifest}.log",
        wildcard_constraints:
            manifest=one_of(PARROT.repacked),
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("repack"),
            numeric=PARROT.repack_libraries,
            by_processes=True,
            corpus=PARROT.audit.curations.corpus,
            captioning=PARROT.repacked_captioning(),
            members=PARROT.repacked_members,
            control=PARROT.repacked_control,
            erasing=PARROT.repacked_erasing,
            seed=PARROT.audit.curations.seed,
        script:
            "../workflow_scripts/repack.py"

    ruleorder: repack > seal

    rule score_heldout:
        """The similarity of captions and held-out images, raw and with text erased."""
        input:
            unpack(PARROT.heldout_inputs),
            weights=MODELS.weights,
            vocabulary=MODELS.vocabulary,
        output:
            scores=f"{RESULTS}/heldout_scores/{{encoder}}/{{corpus}}/all.json",
            drops=f"{RESULTS}/drops/heldout_scores/{{encoder}}/{{corpus}}/all.json",
        log:
            "logs/score_heldout/{encoder}/{corpus}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(32),
        params:
            code=code("score_heldout"),
            numeric=[*CLIP_LIBRARIES, "opencv-python-headless"],
            model=MODELS.encoder,
            states=MODELS.states(),
            erasing=PARROT.audit.erasing.model_dump(mode="json"),
            tokenization=PARROT.audit.tokenization,
        script:
            "../workflow_scripts/score_heldout.py"


if PARROT.audit.test_sets:

    rule evaluate_tasks:
        """A model's predictions for every image of the audit's test sets."""
        input:
            **MODELS.test_set_inputs(PARROT.audit.test_sets),
            weights=MODELS.weights,
            vocabulary=MODELS.vocabulary,
        output:
            **{
                test_set: f"{RESULTS}/tasks/{{encoder}}/{test_set}.json"
                for test_set in PARROT.audit.test_sets
            },
        log:
            "logs/evaluate_tasks/{encoder}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("evaluate"),
            numeric=CLIP_LIBRARIES,
            script="evaluate",
            model=MODELS.encoder,
            states=MODELS.states(MODELS.test_set_inputs(PARROT.audit.test_sets)),
            batch_size=MODELS.batch_size,
            tasks=MODELS.zero_shot_tasks(PARROT.audit.test_sets),
            class_files=MODELS.label_sets(PARROT.audit.test_sets),
        script:
            "../workflow_scripts/evaluate.py"


if PARROT.audit.attack is not None:

    rule attack:
        """A model's predictions for test images with a wrong class name printed on them."""
        input:
            **MODELS.test_set_inputs(PARROT.audit.attack.all_test_sets),
            font=PARROT.font(),
            weights=MODELS.weights,
            vocabulary=MODELS.vocabulary,
        output:
            **PARROT.attacked(),
        log:
            "logs/attack/{encoder}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("attack"),
            numeric=[*CLIP_LIBRARIES, "matplotlib", "numpy"],
            model=MODELS.encoder,
            states=MODELS.states(
                MODELS.test_set_inputs(PARROT.audit.attack.all_test_sets),
                PARROT.font(),
            ),
            batch_size=MODELS.batch_size,
            tasks=MODELS.zero_shot_tasks(PARROT.audit.attack.all_test_sets),
            class_files=MODELS.label_sets(PARROT.audit.attack.all_test_sets),
            type_size=list(PARROT.audit.attack.type_size),
            seed=PARROT.audit.attack.seed,
            stated=PARROT.audit.attack.stated,
        script:
            "../workflow_scripts/attack.py"


rule retrieve_pairs:
    """How well a model retrieves a corpus's images by caption, and captions by image."""
    input:
        tars=CORPORA.tars_of_corpus,
        samples=CORPORA.all_parts("samples/{corpus}"),
        weights=MODELS.weights,
        vocabulary=MODELS.vocabulary,
    output:
        ranks=f"{RESULTS}/pair_ranks/{{encoder}}/{{corpus}}.json",
    log:
        "logs/retrieve_pairs/{encoder}/{corpus}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("retrieve_pairs"),
        numeric=CLIP_LIBRARIES,
        model=MODELS.encoder,
        states=MODELS.states(),
        batch_size=MODELS.batch_size,
        corpus="{corpus}",
        several=PARROT.several_captions,
    script:
        "../workflow_scripts/retrieve_pairs.py"


if PARROT.audit.suite is not None:

    rule run_suite:
        """clip_benchmark's result of a model on one task of the suite."""
        input:
            files=PARROT.suite_files,
            weights=MODELS.weights,
            vocabulary=MODELS.vocabulary,
        output:
            metrics=f"{RESULTS}/suite/{{encoder}}/{{suite_task}}.json",
        log:
            "logs/run_suite/{encoder}/{suite_task}.log",
        wildcard_constraints:
            suite_task=one_of(PARROT.suite),
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("run_suite"),
            numeric=[*CLIP_LIBRARIES, "clip_benchmark", "scikit-learn"],
            task=PARROT.suite_task,
            folder=PARROT.suite_folder,
            model=MODELS.encoder,
            states=MODELS.states(PARROT.suite_files),
            batch_size=PARROT.audit.suite.batch_size,
        script:
            "../workflow_scripts/run_suite.py"


rule task_results:
    """One number for each task of a model."""
    input:
        unpack(PARROT.task_result_inputs),
    output:
        results=f"{RESULTS}/task_results/{{encoder}}.json",
    log:
        "logs/task_results/{encoder}.log",
    conda:
        ENVIRONMENT
    params:
        code=code(
            "task_results", "clipaudit/parrot/reports/sql/parrot_task_results.sql"
        ),
        code_files=["clipaudit/parrot/reports/sql/parrot_task_results.sql"],
        relations=PARROT.task_result_relations,
    script:
        "../workflow_scripts/task_results.py"
