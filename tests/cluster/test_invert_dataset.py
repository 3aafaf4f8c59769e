"""A dataset in parts, in this process: what a cluster's workers do, without the cluster."""

import errno
import gzip
import json
import uuid

import numpy as np
import pyarrow.parquet as parquet
import pytest
import unit_rows as case

from unembed.cluster.cluster_config import ClusterConfig
from unembed.cluster.invert_dataset import DatasetInversion
from unembed.cluster.invert_worker import InvertWorker
from unembed.cluster.part_folder import PartFolder, PartRecord
from unembed.errors import DataError, MismatchError, UsageError
from unembed.invert_config import InvertConfig
from unembed.inverter import Inverter
from unembed.vectors.results import as_row

HERE = ClusterConfig()


def inversion(source, output, model, **more):
    config = InvertConfig(**case.OPTIONS, **more.pop("config", {}))
    return DatasetInversion(str(source), str(output), config, HERE, model=model, part_rows=32, **more)


def table(folder):
    files = sorted(folder.glob("*.parquet"))
    return [row for one in files for row in parquet.read_table(one).to_pylist()]


def test_rows_are_those_of_one_call_whatever_the_files_are(dataset, model, tmp_path):
    outcome = inversion(dataset, tmp_path / "out", model, id_field="id").run()
    rows = table(tmp_path / "out")
    assert [row["index"] for row in rows] == list(range(150))
    assert [row["id"] for row in rows] == [f"row {number}" for number in range(150)]
    assert (outcome.rows, outcome.failed, outcome.earlier) == (150, 3, 0)
    whole = Inverter.from_pretrained(model).invert(case.unit_vectors(150), InvertConfig(**case.OPTIONS))
    for row, result in zip(rows, whole, strict=True):
        if row["index"] not in (40, 100, 101):
            assert row["text"] == result.text
            assert row["error"] is None
    assert rows[40]["error"] == "The vector has NaN or infinity."
    assert rows[100]["error"] == "The vector has 2 dimensions; this model inverts vectors of 16."
    assert rows[101]["error"] == "There is no vector in this row."


def test_a_file_is_the_one_that_a_plain_run_writes(model, tmp_path):
    np.save(tmp_path / "v.npy", case.unit_vectors(100))
    inversion(tmp_path / "v.npy", tmp_path / "texts.jsonl", model).run()
    found = Inverter.from_pretrained(model).invert(case.unit_vectors(100), InvertConfig(**case.OPTIONS))
    plain = [json.dumps(as_row(index, one), ensure_ascii=False) for index, one in enumerate(found)]
    assert (tmp_path / "texts.jsonl").read_text().splitlines() == plain
    assert not (tmp_path / "texts.jsonl.parts").exists()


@pytest.mark.parametrize("name", ["v.jsonl", "v.jsonl.gz"])
def test_json_lines_are_read_from_the_middle(dataset, model, tmp_path, name):
    rows = [json.dumps({"id": n, "embedding": row.tolist()}) for n, row in enumerate(case.unit_vectors(100))]
    text = ("\n\n".join(rows) + "\n").encode()  # blank lines are no rows
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    np.save(tmp_path / "v.npy", case.unit_vectors(100))
    for source, output in ((name, "lines"), ("v.npy", "array")):
        inversion(tmp_path / source, tmp_path / output, model).run()
    lines, array = (sorted((tmp_path / one).glob("part-*")) for one in ("lines", "array"))
    assert [one.read_bytes() for one in lines] == [one.read_bytes() for one in array]


def test_an_interrupted_run_goes_on_and_makes_the_same_bytes(dataset, model, tmp_path, monkeypatch):
    inversion(dataset, tmp_path / "whole", model).run()
    done = []
    original = InvertWorker.__call__

    def dies(self, job):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(job["number"])
        return original(self, job)

    monkeypatch.setattr(InvertWorker, "__call__", dies)
    with pytest.raises(KeyboardInterrupt):
        inversion(dataset, tmp_path / "out", model).run()
    assert not (tmp_path / "out" / "manifest.json").exists()
    (tmp_path / "out" / "part-000001.json").write_text('{"number": 1')  # cut short: the part does not count
    done.clear()
    monkeypatch.setattr(
        InvertWorker, "__call__", lambda self, job: (done.append(job["number"]), original(self, job))[1]
    )
    outcome = inversion(dataset, tmp_path / "out", model).run()
    assert done == [1, 2, 3, 4]
    assert outcome.earlier == 32
    for one in (tmp_path / "whole").iterdir():
        assert one.read_bytes() == (tmp_path / "out" / one.name).read_bytes(), one.name
    done.clear()
    again = inversion(dataset, tmp_path / "out", model).run()
    assert (done, again.earlier) == ([], 150)


def test_a_record_without_its_part_does_not_count(dataset, model, tmp_path):
    inversion(dataset, tmp_path / "whole", model).run()
    inversion(dataset, tmp_path / "out", model).run()
    (tmp_path / "out" / "part-000002.parquet").unlink()
    outcome = inversion(dataset, tmp_path / "out", model).run()
    assert outcome.earlier == 150 - 32
    for one in (tmp_path / "whole").iterdir():
        assert one.read_bytes() == (tmp_path / "out" / one.name).read_bytes(), one.name


def test_a_part_that_could_not_be_written_has_no_record(tmp_path, monkeypatch):
    folder, write = PartFolder(tmp_path), PartFolder.write

    def full(self, name, data):
        if name.endswith(".parquet"):
            raise OSError(errno.ENOSPC, "No space left on device", name)
        write(self, name, data)

    monkeypatch.setattr(PartFolder, "write", full)
    record = PartRecord(number=0, name="part-000000.parquet", rows=1, failed=0, bytes=1, sha256="")
    with pytest.raises(OSError, match="No space"):
        folder.finish_part(record, b"x")
    assert not list(tmp_path.glob("*.json"))  # it would make an older part of that name count


def test_every_row_has_its_own_length_in_every_part(model, tmp_path):
    lengths = [1 + number % 5 for number in range(100)]
    np.save(tmp_path / "v.npy", case.unit_vectors(100))
    inversion(tmp_path / "v.npy", tmp_path / "out", model, config={"lengths": lengths}).run()
    options = InvertConfig(**case.OPTIONS, lengths=lengths)
    plain = Inverter.from_pretrained(model).invert(case.unit_vectors(100), options)
    assert [row["text"] for row in table(tmp_path / "out")] == [one.text for one in plain]


def test_other_settings_are_refused(dataset, model, tmp_path):
    inversion(dataset, tmp_path / "out", model).run()
    with pytest.raises(MismatchError, match="seed"):
        inversion(dataset, tmp_path / "out", model, config={"seed": 1}).run()


def test_vectors_of_another_encoder_are_an_error_before_anything_is_computed(model, tmp_path):
    np.save(tmp_path / "v.npy", np.ones((5, 3), np.float32))
    with pytest.raises(DataError, match="3 dimensions; this model inverts vectors of 16"):
        inversion(tmp_path / "v.npy", tmp_path / "out", model)
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_and_a_missing_one(model, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no file of vectors"):
        inversion(tmp_path / "empty", tmp_path / "out", model)
    with pytest.raises(UsageError, match="no file or folder"):
        inversion(tmp_path / "nowhere", tmp_path / "out", model)
    with pytest.raises(UsageError, match="Standard input"):
        inversion("-", tmp_path / "out", model)


def test_an_address_is_read_and_written(dataset, model, tmp_path):
    import fsspec

    root = f"/{uuid.uuid4().hex}"
    memory = fsspec.filesystem("memory")
    for one in dataset.iterdir():
        memory.pipe_file(f"{root}/in/{one.name}", one.read_bytes())
    address = f"memory:/{root}"
    outcome = inversion(f"{address}/in", f"{address}/out", model).run()
    assert (outcome.rows, outcome.failed) == (150, 3)
    inversion(dataset, tmp_path / "local", model).run()
    for one in (tmp_path / "local").glob("part-*"):
        assert memory.cat_file(f"{root}/out/{one.name}") == one.read_bytes()
    assert inversion(f"{address}/in", f"{address}/out", model).run().earlier == 150
    with pytest.raises(MismatchError, match="seed"):
        inversion(f"{address}/in", f"{address}/out", model, config={"seed": 1}).run()


def test_a_full_disk_loses_only_the_part(dataset, model, tmp_path, monkeypatch):
    original = PartFolder.write

    def full(self, name, data):
        if name == "part-000002.parquet":
            raise OSError(errno.ENOSPC, "No space left on device")
        original(self, name, data)

    monkeypatch.setattr(PartFolder, "write", full)
    with pytest.raises(OSError, match="No space left"):
        inversion(dataset, tmp_path / "out", model).run()
    monkeypatch.setattr(PartFolder, "write", original)
    assert inversion(dataset, tmp_path / "out", model).run().earlier == 64


def test_a_forecast_writes_nothing(dataset, model, tmp_path):
    run = DatasetInversion(
        str(dataset), None, InvertConfig(**case.OPTIONS), ClusterConfig(price_per_hour=36.0), model=model
    )
    found = run.forecast()
    assert found.rows == 150
    rounded = 0.0005  # seconds are told to a thousandth
    assert found.dollars == pytest.approx(0.01 * found.seconds, abs=0.01 * rounded)
    assert found.dollars_per_million == pytest.approx(found.dollars / 150 * 1e6)


def test_a_worker_with_another_model_writes_nothing(dataset, model, tmp_path):
    run = inversion(dataset, tmp_path / "out", model)
    with pytest.raises(MismatchError, match="auto_precision"):
        InvertWorker({**run.settings, "identity": {**run.identity, "auto_precision": "fp8"}})
