"""The tutorial, from its first command to its last, on few of its texts and with a few training steps."""

from __future__ import annotations

from pathlib import Path

import pages
import pytest

PAGE = "docs/tutorial.md"
NOT_HERE = ("pip", ".", "python")  # installing, and `python texts.py`: its code is run as it stands

# Options on top of what the page says, by command: the last one counts.
SHORTER = {
    "prepare": "--test-share 0.05 --validation-share 0.05",
    "train": "--steps 4 --batch 16 --warmup 2 --candidates 100 --sample-size 4 --validate-size 8",
    "evaluate": "--samples 8",
}


def _shortened(words: list[str]) -> list[str]:
    own_model = "--model" in words and "guided" in words
    more = "--max-encoder-calls 16" if own_model else SHORTER.get(words[1], "")
    return [*words, *more.split()]


@pytest.mark.slow
def test_every_step_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = []
    for language, block in pages.every_block(PAGE):
        if language == "python":
            exec(compile(block.replace("12_000", "400"), PAGE, "exec"), {})
        elif language == "bash":
            for words in pages.commands(block):
                if words[0] not in NOT_HERE:
                    pages.run(_shortened(words))
                    ran.append(words[1])
        elif language == "console":
            for words, expected in pages.sessions(block):
                printed = pages.run(_shortened(words))
                ran.append(words[1])
                if "--model" in words:  # a model that has learnt next to nothing
                    assert printed
                else:
                    assert pages.comparable(printed) == pages.comparable(expected)
    assert {"prepare", "train", "invert", "evaluate", "data"} <= set(ran)
    assert (tmp_path / "runs" / "mine" / "best" / "model.safetensors").exists()
    assert len((tmp_path / "recovered.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_the_sentence_to_recover_is_not_among_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [maker] = [block for language, block in pages.every_block(PAGE) if block.startswith("# texts.py")]
    exec(compile(maker, PAGE, "exec"), {})
    texts = (tmp_path / "texts.txt").read_text(encoding="utf-8").splitlines()
    assert len(texts) == len(set(texts)) == 12_000
    inverted = [
        words[-1] if words[-1].endswith(".") else words[4]
        for language, block in pages.every_block(PAGE)
        if language == "console"
        for words, _ in pages.sessions(block)
        if words[1] == "invert" and "--model" in words
    ]
    assert inverted
    assert not set(inverted) & set(texts)
