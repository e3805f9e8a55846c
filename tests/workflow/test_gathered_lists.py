"""Lists of pointers, which replace the pointers where there are many."""

import json

LIST = "results_micro/gathered/shards/large.list"


def test_a_list_names_the_pointers_of_all_parts_by_content_and_path(project):
    project.run(target=LIST)

    paths = [f"results_micro/shards/large/{part:05d}.json" for part in range(2)]
    digests = [json.loads((project.folder / path).read_text())["digest"] for path in paths]
    lines = (project.folder / LIST).read_text().splitlines()
    assert lines == [f"{digest} {path}" for digest, path in zip(digests, paths, strict=True)]


def test_lists_in_place_of_pointers_recompute_nothing(project):
    before, digests = project.computed(), project.digests()
    project.edit("clipaudit/wiring/corpora.py", "FEW_POINTERS = 32", "FEW_POINTERS = 1")

    project.run()

    assert (project.folder / LIST).exists()
    assert project.computed() == before
    assert project.digests() == digests
