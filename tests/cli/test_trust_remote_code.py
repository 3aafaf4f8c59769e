"""A model folder with code of its own: no command runs it unless it is told to, and every one can be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
import tiny_models
from click.testing import CliRunner, Result

import tiny
import toy
from unembed.cli import serve
from unembed.cli.main import cli
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.encoders import load_encoder
from unembed.errors import UsageError
from unembed.inverter import Inverter

TRUST = "--trust-remote-code"


class OwnCode(NamedTuple):
    """An encoder that brings code, texts, data that it encoded, and a model of random weights for it."""

    encoder: Path
    texts: Path
    data: Path
    model: Path
    ran: Path  # written by the encoder's code when it is imported and when its class is used

    def has_run(self) -> bool:
        """Whether the code ran since this was last asked."""
        existed = self.ran.exists()
        self.ran.unlink(missing_ok=True)
        return existed


@pytest.fixture(scope="module")
def own_code(tmp_path_factory: pytest.TempPathFactory) -> OwnCode:
    root = tmp_path_factory.mktemp("own-code")
    folder = tiny_models.with_own_code(root / "encoder")
    ran = root / "ran"
    code = folder / "custom_st.py"
    mark = f"open({str(ran)!r}, 'w').close()\n"
    constructor = (
        f"    def __init__(self, *args, **kwargs):\n        {mark}        super().__init__(*args, **kwargs)\n"
    )
    code.write_text(mark + code.read_text(encoding="utf-8") + constructor, encoding="utf-8")
    corpus = root / "corpus.txt"
    corpus.write_text("\n".join(toy.sentences(60)) + "\n", encoding="utf-8")
    collect(CollectConfig(source=(f"en={corpus}",)), root / "texts")
    with pytest.raises(UsageError):
        load_encoder(str(folder), device="cpu")
    assert not ran.exists()  # not even imported
    encoder = load_encoder(str(folder), device="cpu", trust_remote_code=True)
    settings = EncodeConfig(encoder=str(folder), seq_len=32, validation_share=0.1, test_share=0.4)
    encode(settings, root / "texts", root / "data", encoder=encoder)
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info, max_length=32)
    ran.unlink()
    return OwnCode(folder, root / "texts", root / "data", tiny.save(model, root / "model"), ran)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def commands(own_code: OwnCode, output: Path) -> dict[str, tuple[object, ...]]:
    short = ("--samples", 4, "--steps", 1, "--no-plots", "--metrics", "cosine", "--no-floors")
    return {
        "prepare encode": (
            *("prepare", "encode", own_code.texts, "--encoder", own_code.encoder),
            *("--seq-len", 32, "-o", output, "--json"),
        ),
        "invert": ("invert", "the cat sat", "--model", own_code.model, "--steps", 1, "--json"),
        "invert guided": (
            *("invert", "the cat sat", "--model", own_code.model, "--json"),
            *("--strategy", "guided", "--max-encoder-calls", 4),
        ),
        "invert guided by name": (
            *("invert", "the cat sat", "--model", own_code.model, "--json", "--encoder", own_code.encoder),
            *("--strategy", "guided", "--max-encoder-calls", 4),
        ),
        "evaluate": (
            *("evaluate", "--model", own_code.model, "--data", own_code.data, *short),
            *("-o", output, "--json"),
        ),
        "identify": ("identify", _pairs(output), "--encoder", own_code.encoder, "--json"),
    }


def _pairs(folder: Path) -> Path:
    """A text with a vector."""
    path = folder.with_name("pairs.jsonl")
    path.write_text(json.dumps({"text": "the cat sat", "embedding": [0.6, 0.7, 0.1]}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "name", ["prepare encode", "invert", "invert guided", "invert guided by name", "evaluate", "identify"]
)
def test_a_command_runs_an_encoders_code_only_when_told_to(
    own_code: OwnCode, tmp_path: Path, name: str
) -> None:
    typed = commands(own_code, tmp_path / "out")[name]
    refused = run(*typed)
    assert isinstance(refused.exception, UsageError)
    assert TRUST in str(refused.exception.hint)
    assert not own_code.has_run()

    allowed = run(*typed, TRUST)
    assert allowed.exception is None, allowed.exception
    assert json.loads(allowed.stdout)
    assert own_code.has_run()


def test_a_served_models_encoder_runs_its_code_only_when_told_to(
    own_code: OwnCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models that `unembed serve` loads, asked for a vector as the server does; nothing listens."""
    loaded: list[Inverter] = []
    monkeypatch.setattr(serve, "_serve", lambda models, *rest, **more: loaded.extend(models.values()))
    assert run("serve", "--port", 0, "--model", own_code.model).exception is None
    with pytest.raises(UsageError):
        loaded[0].encode(["the cat sat"])
    assert not own_code.has_run()
    assert run("serve", "--port", 0, "--model", own_code.model, TRUST).exception is None
    assert loaded[1].encode(["the cat sat"]).shape == (1, tiny_models.WIDTH)
    assert own_code.has_run()
