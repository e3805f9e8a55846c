"""results/audit.duckdb: every table of the run as a view, and all of them in one: `audit`."""

import os
from pathlib import Path

from clipaudit.steps.workflow import reporting

with reporting(snakemake):
    from clipaudit.catalog.audit_parts import Choices
    from clipaudit.catalog.views import catalog_files, write_catalog
    from clipaudit.config.loading import parse_settings
    from clipaudit.lineage.walk import actions_below
    from clipaudit.memorization.settings import Memorization
    from clipaudit.parrot.settings import Parrot
    from clipaudit.similarity.settings import Similarity
    from clipaudit.store.packing import keep_packed
    from clipaudit.store.store import Store

    results = Path(snakemake.config["results"])
    store = Store(Path(snakemake.config["store"]))
    actions = actions_below(results, store, map(Path, snakemake.input))
    target = Path(snakemake.output.catalog)
    spare = target.with_name(f".{target.name}.{os.getpid()}")
    spare.unlink(missing_ok=True)
    run = parse_settings(snakemake.config)
    similarity, parrot = run.section(Similarity), run.section(Parrot)
    memory = run.section(Memorization)
    choices = Choices(
        similarity_encoder=similarity.encoder if similarity else None,
        memorization_encoder=memory.encoder if memory else None,
        recipe=memory.recipe if memory else None,
        public=next(iter(memory.publics), None) if memory else None,
        neighbors=memory.neighbors[0] if memory else None,
        parrot_encoder=parrot.encoder if parrot else None,
    )
    write_catalog(catalog_files(results, store, actions), actions, spare, choices)
    os.replace(spare, target)
    keep_packed(store)
