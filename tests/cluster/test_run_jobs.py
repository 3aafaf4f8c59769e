import json

import pytest

from unembed.cluster.cluster_config import ClusterConfig
from unembed.cluster.ray_session import actors_that_fit
from unembed.cluster.run_jobs import Actor, _checked, in_order
from unembed.errors import DataError, UnavailableError, UsageError


class Doubling:
    def __init__(self, settings):
        self.settings = settings

    def __call__(self, job):
        if job["number"] == self.settings.get("bad"):
            raise DataError("It is damaged.", hint="Mend it.")
        if job["number"] == self.settings.get("full"):
            raise OSError(28, "No space left on device", "/out/part")
        return {"number": job["number"], "twice": 2 * job["number"]}


def ask(settings, *numbers):
    batch = {"job": [json.dumps({"number": number}) for number in numbers]}
    return [json.loads(one) for one in Actor(Doubling, settings, 1)(batch)["answer"]]


def test_an_actor_answers():
    assert [_checked(one)["twice"] for one in ask({}, 1, 2)] == [2, 4]


def test_an_actors_error_keeps_its_class_and_hint():
    [answer] = ask({"bad": 1}, 1)
    with pytest.raises(DataError, match=r"It is damaged\.") as caught:
        _checked(answer)
    assert caught.value.hint == "Mend it."
    with pytest.raises(UnavailableError, match="/out/part: No space left"):
        _checked(ask({"full": 1}, 1)[0])


def test_answers_come_back_in_order():
    jobs = [{"number": number} for number in (3, 5, 9)]
    answers = iter([{"number": 9}, {"number": 3}, {"number": 5}])
    assert [one["number"] for one in in_order(answers, jobs)] == [3, 5, 9]


def test_how_many_actors_fit():
    class Ray:
        @staticmethod
        def cluster_resources():
            return {"CPU": 9.0, "GPU": 2.0}

    assert actors_that_fit(Ray, ClusterConfig(on="ray", cpus_per_actor=2)) == 4
    assert actors_that_fit(Ray, ClusterConfig(on="ray", gpus_per_actor=0.5)) == 4
    assert actors_that_fit(Ray, ClusterConfig(on="ray", actors=100)) == 100
    with pytest.raises(UsageError, match="fits"):
        actors_that_fit(Ray, ClusterConfig(on="ray", cpus_per_actor=10))


def test_addresses():
    assert ClusterConfig(on="ray").address == "local"
    assert ClusterConfig(on="ray:auto").address == "auto"
    assert ClusterConfig(on="ray:10.0.0.1:6379").address == "10.0.0.1:6379"
    with pytest.raises(ValueError, match="no engine"):
        ClusterConfig(on="dask")
