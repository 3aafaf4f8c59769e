import json
from pathlib import Path

import pytest

from unembed.data.hub_dataset import MC4_LANGUAGES, HubDataset
from unembed.data.sources import parse_source
from unembed.errors import UnavailableError, UsageError


def test_names() -> None:
    assert HubDataset.parse("c4", language="en") == HubDataset("allenai/c4", "en", "train")
    assert HubDataset.parse("owner/name:config:test", language="und") == HubDataset(
        "owner/name", "config", "test"
    )
    assert HubDataset.parse("name", language="und") == HubDataset("name")


@pytest.mark.parametrize("language", MC4_LANGUAGES)
def test_mc4_is_read_in_ten_languages(language: str) -> None:
    dataset = parse_source(f"{language}=hub:mc4", field="text").dataset
    assert dataset is not None
    assert dataset.name == "allenai/c4"
    assert dataset.data_files == f"multilingual/c4-{language}.tfrecord-*.json.gz"


@pytest.mark.parametrize("spec", ["hub:mc4", "xx=hub:mc4", "hub:", "hub:a:b:c:d"])
def test_wrong_names(spec: str) -> None:
    with pytest.raises(UsageError):
        parse_source(spec, field="text")


def test_a_hub_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError("refused")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", refuse)
    with pytest.raises(UnavailableError, match="cannot be read from the hub") as error:
        parse_source("en=hub:c4", field="text").fingerprint()
    assert "--source en=corpus.txt.gz" in str(error.value.hint)


@pytest.fixture
def local_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HubDataset:
    """The real streaming reader of `datasets`, on a file instead of the hub."""
    datasets = pytest.importorskip("datasets")
    lines = [json.dumps({"text": f"text {number}", "url": ""}) for number in range(20)]
    (tmp_path / "part.jsonl").write_text("\n".join(lines), encoding="utf-8")
    load = datasets.load_dataset

    def local(name: str, config: str | None, **options: object) -> object:
        assert (name, config) == ("allenai/c4", "en")
        assert options["revision"] == "abc"
        assert options["streaming"]
        files = str(tmp_path / "part.jsonl")
        return load("json", data_files=files, split=options["split"], streaming=True)

    monkeypatch.setattr(datasets, "load_dataset", local)
    dataset = HubDataset.parse("c4", language="en")
    dataset._memo["revision"] = "abc"
    return dataset


def test_streaming_begins_anywhere(local_stream: HubDataset) -> None:
    texts = [f"text {number}" for number in range(20)]
    assert list(local_stream.texts("text")) == texts
    assert list(local_stream.texts("text", skip=7)) == texts[7:]


def test_a_wrong_column_is_named(local_stream: HubDataset) -> None:
    with pytest.raises(UsageError, match="no field 'body'"):
        list(local_stream.texts("body"))
