"""One gallery of a paper: test pictures beside the pictures nearest to them."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Pick test samples and their neighbours, look their pictures up, draw them."""
    from clipaudit.corpora.addresses import shard_row
    from clipaudit.corpora.lookup import rows_of_shards
    from clipaudit.reports.drawing import figure_bytes
    from clipaudit.reports.galleries import draw_gallery
    from clipaudit.reports.rendering import figure_markdown, to_csv
    from clipaudit.reports.shown_pictures import shown_pictures
    from clipaudit.similarity.gallery import (
        SearchedSet,
        gallery,
        gallery_addresses,
        neighbor_addresses,
        pick_vectors,
        queries_of,
    )

    asked = step.settings["gallery"]
    pairs = zip(asked["sets"], step.tables("neighbors"), strict=True)
    sets = [SearchedSet(each["title"], each["corpus"], neighbors) for each, neighbors in pairs]
    queries = queries_of(sets, [each["testset"] for each in asked["testsets"]], **asked["picked"])
    vectors = {}
    for corpus, addresses in neighbor_addresses(sets, queries).items():
        files = [each for each in step.labelled("embeddings") if each.labels["corpus"] == corpus]
        shards = {shard_row(address)[0] for address in addresses}
        batches = rows_of_shards([file.path for file in files], shards)
        vectors[corpus] = pick_vectors(batches, addresses)
    table = gallery(queries, sets, vectors, **asked["shown"])
    wanted = gallery_addresses(table)
    pictures = shown_pictures(wanted, asked, step.files("tars"), step.labelled("samples"))
    svg, png = figure_bytes(draw_gallery(table, pictures, asked))
    step.write_table("table", table, table.schema)
    step.write_bytes("csv", to_csv(table).encode(), ".csv")
    step.write_bytes("svg", svg, ".svg")
    step.write_bytes("png", png, ".png")
    text = figure_markdown(step.settings["name"], step.settings["caption"])
    step.write_bytes("markdown", text.encode(), ".md")


run_step(snakemake, compute)
