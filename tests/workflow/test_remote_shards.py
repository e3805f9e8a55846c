"""Runs of the micro world whose corpora are on an S3 server on loopback."""

import io
import json
import re
import shutil
import tarfile

import pytest
from microproject import Project, copy_project
from s3server import bucket_client, needs_moto, serving_s3

pytestmark = needs_moto

SETTINGS = "config/micro.yaml"
EMBEDDED = "results_micro/embeddings/own/large/00001.json"
TARGETS = f"{EMBEDDED} results_micro/figures/similarity_fig15_val.svg.json"
PLACE = ("--results", "results_micro", "--store", "store_micro")
BOUND = 0.0005  # gigabytes: two of the seven shards


class RemoteProject(Project):
    """A project whose jobs find the S3 server."""

    endpoint: dict

    def environment(self):
        return {**super().environment(), **self.endpoint}

    def tars(self):
        return sorted((self.folder / "data/micro").rglob("*.tar"))

    def move_to_s3(self):
        """Upload the tars, remove them here, and name them by URL in the settings."""
        client = bucket_client(self.endpoint)
        client.create_bucket(Bucket="micro")
        for tar in self.tars():
            name = str(tar.relative_to(self.folder / "data/micro"))
            client.put_object(Bucket="micro", Key=name, Body=tar.read_bytes())
            tar.unlink()
        path = self.folder / SETTINGS
        before, corpora = path.read_text().split("\ncorpora:\n")
        corpora = re.sub(r"data/micro/(\w+/[^ ,\"]*\.tar)", r"s3://micro/\1", corpora)
        corpora = re.sub(r"(,|\n  )\s*world: micro", "", corpora)
        path.write_text(f"{before}\nremote: {{gigabytes: {BOUND}}}\ncorpora:\n{corpora}")

    def cached_bytes(self):
        return sum(path.stat().st_size for path in (self.store / "cache/shards").iterdir())


@pytest.fixture
def moved(finished, tmp_path):
    """Yield the finished project with its corpora moved to S3."""
    shutil.copytree(finished.folder, tmp_path / "project", symlinks=True)
    project = RemoteProject(tmp_path / "project")
    shutil.rmtree(project.store / "files")  # it knows the tars of the copied project
    with serving_s3() as project.endpoint:
        project.move_to_s3()
        yield project


@pytest.mark.long
def test_a_corpus_that_moves_to_s3_recomputes_nothing(moved, finished):
    before = moved.computed()

    moved.run(target=TARGETS)

    assert moved.computed_steps(before) == []
    assert moved.digests() == finished.digests()
    assert moved.cached_bytes() <= BOUND * 1e9
    assert "Nothing to be done" in moved.run(target=TARGETS)
    assert "up to date" in moved.clipaudit("plan", *TARGETS.split(), "--configfile", SETTINGS)


@pytest.mark.slow
def test_commands_find_remote_shards_by_url_and_through_the_cache(moved):
    moved.run(target="results_micro/audit.duckdb results_micro/sealed/large.json")
    assert "7 shards are remote: not fetched" in moved.clipaudit("verify", *PLACE)

    moved.clipaudit("sample", "large", "3:0", "--format", "html", "--output", "sample.html", *PLACE)
    assert "data:image/png;base64," in (moved.folder / "sample.html").read_text()

    digest = json.loads((moved.results / "sealed/large.json").read_text())["digest"]
    with tarfile.open(fileobj=io.BytesIO(moved.stream(digest, 1))) as tar:
        assert tar.getnames()


@pytest.mark.slow
@pytest.mark.timeout(1_500)
def test_a_world_on_s3_gives_the_same_tables_byte_for_byte(finished, tmp_path):
    """The cache holds two of seven shards, and the store is empty."""
    project = RemoteProject(copy_project(tmp_path / "project").folder)
    shutil.copytree(finished.folder / "data", project.folder / "data")
    with serving_s3() as project.endpoint:
        project.move_to_s3()
        for target in (EMBEDDED, "all_tables", "all_tables all_figures"):
            project.run(target=target)  # a single run would take too long

    assert project.digests() == finished.digests()
    assert project.cached_bytes() <= BOUND * 1e9
    tree = project.clipaudit("why", EMBEDDED, "--all", *PLACE)
    assert "s3://micro/large/00002.tar" in tree


@pytest.mark.slow
def test_a_shard_replaced_on_s3_is_named_and_indexed_again_on_request(moved):
    moved.run(target=EMBEDDED)
    client = bucket_client(moved.endpoint)
    source = {"Bucket": "micro", "Key": "large/00000.tar"}
    client.copy_object(Bucket="micro", Key="large/00003.tar", CopySource=source)
    shutil.rmtree(moved.store / "cache")
    shutil.rmtree(moved.store / "actions")  # so that the part is embedded again
    (moved.folder / EMBEDDED).unlink()

    output = moved.run(target=EMBEDDED, ok=False)

    assert "s3://micro/large/00003.tar: " in output
    assert "snakemake --forcerun index" in output
    moved.run("--forcerun", "index", target=EMBEDDED)
