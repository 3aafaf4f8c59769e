"""Which precision is chosen, by what the processor has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from unembed.compute.precision import Processor, choose_precision, computing, current_precision

OLD = Processor(vnni=False, bf16=False)
VNNI = Processor(vnni=True, bf16=False)
NEW = Processor(vnni=True, bf16=True)


@pytest.mark.parametrize(
    ("wanted", "processor", "chosen"),
    [
        ("auto", OLD, "fp32"),
        ("auto", VNNI, "fp32"),
        ("auto", NEW, "bf16"),
        ("fp32", NEW, "fp32"),
        ("bf16", NEW, "bf16"),
        ("bf16", OLD, "fp32"),
        ("int8", OLD, "int8"),
        ("int8", NEW, "int8"),
    ],
)
def test_the_processor_decides(wanted: str, processor: Processor, chosen: str) -> None:
    assert choose_precision(wanted, "cpu", processor) == chosen


@pytest.mark.parametrize("wanted", ["auto", "bf16", "int8"])
def test_elsewhere_than_on_a_cpu_it_is_float32(wanted: str) -> None:
    assert choose_precision(wanted, "cuda", NEW) == "fp32"
    assert choose_precision(wanted, torch.device("meta"), NEW) == "fp32"


@pytest.mark.parametrize(
    ("avx512_bf16", "amx", "vnni", "expected"),
    [
        (False, False, False, OLD),
        (False, False, True, VNNI),
        (True, False, True, NEW),
        (False, True, False, NEW),
    ],
)
def test_amx_is_as_good(
    monkeypatch: pytest.MonkeyPatch, avx512_bf16: bool, amx: bool, vnni: bool, expected: Processor
) -> None:
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    answers = {
        "_is_avx512_bf16_supported": avx512_bf16,
        "_is_amx_tile_supported": amx,
        "_is_vnni_supported": vnni,
    }
    for question, answer in answers.items():
        monkeypatch.setattr(torch.cpu, question, lambda answer=answer: answer)
    assert Processor.detect() == expected


def test_a_torch_that_cannot_tell_means_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "cpu", object())
    assert Processor.detect() == OLD


def test_the_precision_holds_within_its_context() -> None:
    assert current_precision() is None
    with computing("bf16"):
        assert current_precision() == "bf16"
        with computing(None):
            assert current_precision() is None
        assert current_precision() == "bf16"
    assert current_precision() is None


@pytest.mark.parametrize("limit", ["ONEDNN_MAX_CPU_ISA=AVX2", "ATEN_CPU_CAPABILITY=avx2"])
def test_what_the_environment_forbids_is_not_there(limit: str) -> None:
    name, _, value = limit.partition("=")
    code = "from unembed.compute.precision import Processor; print(Processor.here())"
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, name: value},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.strip() == str(OLD)
