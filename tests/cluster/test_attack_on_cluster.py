"""An audit whose inversions others make has the same rows and figures."""

import json

import numpy as np
import pytest
from audit_cases import write_store

import tiny
import toy
from unembed.audit.auditor import audit
from unembed.cluster.attack_on_cluster import ClusterRecovery, _inversion
from unembed.cluster.cluster_config import ClusterConfig
from unembed.decode.result import Advance, Alternative, Inversion


@pytest.mark.usefixtures("without_detector")
def test_the_report_is_the_same(tmp_path):
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    fit_to = encoder.encode(toy.sentences(50))
    made = tiny.checkpoint(toy.wordpiece(), encoder.info, max_length=24, fit_to=fit_to)
    model = str(tiny.save(made, tmp_path / "model"))
    store = write_store(tmp_path / "notes.jsonl", toy.sentences(80))
    others = ClusterRecovery(ClusterConfig(), model, trust_remote_code=False)
    how = {"samples": 70, "model": model, "attackers": ("vectors",), "show_texts": True}
    for name, more in (("here", {}), ("there", {"recover": others})):
        audit(str(store), tmp_path / name, **how, **more)
    rows = []
    for name in ("here", "there"):
        lines = (tmp_path / name / "rows.jsonl").read_text().splitlines()
        rows.append([{**json.loads(line), "seconds": None} for line in lines])
    assert len(rows[0]) > 64  # more than one batch
    assert all(row["recovered"] for row in rows[0])
    assert rows[0] == rows[1]


def test_an_inversion_survives_the_way():
    import dataclasses

    one = Inversion(
        "a", (1, 2), float(np.float32(-0.1)), 3, False, (Alternative("b", (3,), -2.0),), None, 5, 0.5,
        (Advance(1, 0.1, "c", (4,)),), (Advance(2, 0.2, "d", (5,), -1.0),), (-0.5, -0.25), "encoder",
    )  # fmt: skip
    assert _inversion(json.loads(json.dumps(dataclasses.asdict(one)))) == one


@pytest.fixture
def without_detector(monkeypatch):
    monkeypatch.setattr(
        "unembed.audit.personal_data.find_personal", lambda texts, progress: [[] for _ in texts]
    )
