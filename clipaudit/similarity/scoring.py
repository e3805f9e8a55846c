"""Scores how well an audit finds planted near duplicates, by a synthetic world's truth tables.

Run as `python -m clipaudit.similarity.scoring SETTINGS` after the tables are made.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.settings import Settings
from clipaudit.errors import ClipauditError, InputError
from clipaudit.similarity.calibrated import near_duplicate_distance
from clipaudit.similarity.reports.neighbors import calibrated
from clipaudit.similarity.settings import Similarity

FOUND = """
with nearest as (
    select test_shard, test_row, max(similarity) as similarity
    from neighbors
    where testset = $testset and rank = 0
    group by test_shard, test_row
),

planted as (
    select distinct duplicate_of_shard as test_shard, duplicate_of_row as test_row
    from truth
    where duplicate_of_corpus = $testset
)

select
    count(*) filter (where planted.test_row is not null) as planted,
    count(*) filter (where planted.test_row is not null and 1 - similarity < $distance) as found,
    count(*) filter (where planted.test_row is null and 1 - similarity < $distance) as besides,
from nearest
left join planted using (test_shard, test_row)
"""


@dataclass(frozen=True)
class Score:
    """Test images of one set: with a planted near duplicate, found among these, found besides."""

    test_set: str
    planted: int
    found: int
    besides: int


def score_near_duplicates(run: Settings) -> list[Score]:
    """Return, for each test set, how many planted near duplicates Table 2's rule finds.

    Raise InputError if the large corpus is not of a synthetic world.
    """
    audit = run.section(Similarity)
    if audit is None or run.corpora[audit.large].world is None:
        raise InputError(
            "similarity.large: this is not a corpus of a synthetic world, so there is no truth to "
            "score by. Name a corpus with a `world`."
        )
    neighbors = Path(run.results) / "neighbors" / audit.encoder / f"{audit.large}.parquet"
    if not neighbors.exists():
        raise InputError(f"{neighbors}: not made yet. Run snakemake with these settings first.")
    truth = [str(Path(tar).with_suffix(".truth.parquet")) for tar in run.shards(audit.large)]
    distance = _distance(run, audit)
    with duckdb.connect() as connection:
        connection.read_parquet(str(neighbors)).create_view("neighbors")
        connection.read_parquet(truth).create_view("truth")
        scores = []
        for name in audit.test_sets:
            named = {"testset": name, "distance": distance}
            (counts,) = connection.execute(FOUND, named).fetchall()
            scores.append(Score(name, *counts))
        return scores


def _distance(run: Settings, audit: Similarity) -> float:
    files = [Path(run.results, path).with_suffix(".parquet") for path in calibrated(audit)]
    for file in files:
        if not file.exists():
            raise InputError(f"{file}: not made yet. Run snakemake with these settings first.")
    return near_duplicate_distance(audit.given_distance, map(pq.read_table, files))


def main(settings: Path) -> None:
    """Print the scores of a run, a line for each test set."""
    scores = score_near_duplicates(parse_settings(read_settings(settings)))
    print("test images with a near duplicate in the large set")
    print(f"{'test set':12} {'planted':>8} {'found':>8} {'besides':>8}")
    for score in scores:
        print(f"{score.test_set:12} {score.planted:8} {score.found:8} {score.besides:8}")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except ClipauditError as error:
        sys.exit(f"clipaudit: {error}")
