import pytest

from clipaudit.errors import ConfigError
from clipaudit.steps.environment import device_of, environment_of, gpus_of, processes_of


def test_an_exact_step_has_no_environment():
    assert environment_of((), {"gpu": 1}, threads=4) == {}


def test_the_class_of_a_cpu_and_the_threads_count():
    environment = environment_of(("numpy",), {}, threads=4)

    assert environment["device"].startswith("cpu ")
    assert environment["threads"] == "4"
    assert environment.keys() == {"device", "threads", "numpy"}


def test_threads_do_not_count_on_a_gpu():
    assert environment_of(("numpy",), {"gpu": 1}, threads=4).keys() == {"device", "numpy"}
    assert device_of({"gpu": 1}) == "cuda"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [({}, 1), ({"gpu": 2}, 2), ({"gpu": 0, "processes": 3}, 3), ({"gpu": 32, "nodes": 4}, 32)],
)
def test_each_node_has_as_many_processes_as_gpus_or_as_requested(resources, expected):
    assert processes_of(resources) == expected


def test_the_resource_gpu_counts_those_of_all_nodes():
    assert [gpus_of(each) for each in ({}, {"gpu": 8}, {"gpu": 32, "nodes": 4})] == [0, 8, 32]


def test_the_number_of_processes_counts():
    assert environment_of(("numpy",), {"gpu": 2}, threads=1)["processes"] == "2"


def test_a_library_that_is_not_installed_is_named():
    with pytest.raises(ConfigError, match="no-such-library is not installed"):
        environment_of(("no-such-library",), {}, threads=1)
