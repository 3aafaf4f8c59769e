"""Loading a model is what every `unembed invert` begins with: it must not drag in what it does not need."""

import subprocess
import sys

import tiny
import toy


def test_loading_a_checkpoint_leaves_the_compiler_alone(tmp_path, toy_encoder):
    tiny.checkpoint(toy.wordpiece(), toy_encoder.info).save(tmp_path / "model")
    code = (
        "import sys; from unembed.model.checkpoint import load_checkpoint; from pathlib import Path; "
        "load_checkpoint(Path(sys.argv[1])); print('torch._dynamo' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model")], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "False"
