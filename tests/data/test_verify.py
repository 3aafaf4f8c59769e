from pathlib import Path

import numpy as np
import pytest

from unembed.data.manifest import PreparedManifest, read_manifest, write_manifest
from unembed.data.prepared import PreparedData
from unembed.data.verify import verify
from unembed.errors import DataError, UsageError
from unembed.storage import digest_file


def test_a_whole_folder(prepared: PreparedData, texts: Path) -> None:
    result = verify(prepared.folder, deep=True)
    assert result.ok
    assert result.files == 1 + 4 * 5
    assert result.samples == sum(prepared.manifest.counts.values())
    assert result.digest == prepared.digest
    assert verify(texts).ok


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "shards/00000.tokens.npy", "shards/00002.vectors.npy", "shards/00003.keys.npy"]
)
@pytest.mark.parametrize("damage", ["flipped", "cut", "longer", "gone"])
def test_every_damage_is_found_and_named(prepared: PreparedData, name: str, damage: str) -> None:
    file = prepared.folder / name
    data = bytearray(file.read_bytes())
    if damage == "flipped":
        data[len(data) // 2] ^= 1
    if damage == "cut":
        del data[-1:]
    if damage == "longer":
        data += b"x"
    file.write_bytes(data)
    if damage == "gone":
        file.unlink()
    result = verify(prepared.folder)
    assert [problem["file"] for problem in result.problems] == [str(file)]
    assert "run the same 'unembed prepare' again" in result.problems[0]["repair"]


def test_damaged_texts_are_found(texts: Path) -> None:
    file = texts / "texts-00000.jsonl.gz"
    data = bytearray(file.read_bytes())
    data[50] ^= 255
    file.write_bytes(data)
    [problem] = verify(texts).problems
    assert problem["file"] == str(file)


def test_a_changed_manifest_and_an_unfinished_folder(prepared: PreparedData) -> None:
    manifest = prepared.folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.raises(DataError, match="own digest"):
        verify(prepared.folder)
    manifest.unlink()
    with pytest.raises(UsageError, match="not finished"):
        verify(prepared.folder)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ("tokens", "tokens that its text does not give"),
        ("vectors", "NaN"),
        ("keys", "key that is not its text's"),
    ],
)
def test_a_forged_folder_passes_the_digests_but_not_the_deep_look(
    prepared: PreparedData, array: str, message: str
) -> None:
    """Whoever rewrites a file and its digest still cannot make a sample keep the format's promises."""
    file = prepared.folder / "shards" / f"00001.{array}.npy"
    values = np.load(file)
    if array == "tokens":
        values[0, 0] = 0  # [PAD] where a word belongs
    elif array == "vectors":
        values[0, 0] = np.nan
    else:
        values[0] ^= np.uint64(1)
    np.save(file, values)
    manifest, _ = read_manifest(prepared.folder, PreparedManifest)
    content = manifest.model_dump(mode="json")
    for entry in content["shards"][1]["files"]:
        if entry["name"].endswith(file.name):
            entry["sha256"] = digest_file(file)
    write_manifest(prepared.folder, PreparedManifest.model_validate(content))
    assert verify(prepared.folder).ok
    result = verify(prepared.folder, deep=True)
    assert any(message in problem["problem"] for problem in result.problems)
