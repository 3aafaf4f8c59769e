"""With zero modulation, the denoiser's hidden states are the pretrained model's."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from unembed.errors import DataError, UsageError
from unembed.model.backbone import block_config, load_backbone, open_backbone
from unembed.model.config import DenoiserConfig
from unembed.model.denoiser import Denoiser

transformers = pytest.importorskip("transformers")

LENGTH = 9


def adapted(source, layers, *, max_length=16):
    """A denoiser on some of the backbone's blocks, its vocabulary the backbone's whole one."""
    backbone = open_backbone(str(source))
    size = backbone.config["vocab_size"]
    config = DenoiserConfig(
        vector_dim=4,
        vocabulary=size,
        max_length=max_length,
        layers=len(layers),
        block=block_config(backbone, layers, max_length),
        length="given",
    )
    denoiser = Denoiser(config).eval()
    load_backbone(denoiser, backbone, layers, torch.arange(size), mask_token_id=3)
    return denoiser


@torch.no_grad()
def hidden(denoiser, tokens):
    prepared = denoiser.prepare(torch.randn(len(tokens), 4), torch.full((len(tokens),), LENGTH))
    return denoiser.hidden(tokens, torch.rand(len(tokens)), prepared)


def tokens_below(size):
    return torch.randint(size, (3, LENGTH), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("layers", [tuple(range(6)), (0, 2, 4), (1, 5)])
def test_minilm_with_its_real_weights(layers):
    folder = open_backbone("minilm").folder
    bert = transformers.BertModel.from_pretrained(
        folder, add_pooling_layer=False, attn_implementation="eager"
    )
    bert.encoder.layer = torch.nn.ModuleList(bert.encoder.layer[layer] for layer in layers)
    tokens = tokens_below(30_522)
    positions = torch.arange(1, LENGTH + 1)[None]  # [CLS], which we leave out, stands at 0
    with torch.no_grad():
        theirs = bert.eval()(input_ids=tokens, position_ids=positions).last_hidden_state
    torch.testing.assert_close(hidden(adapted("minilm", layers), tokens), theirs, atol=1e-5, rtol=0)


def test_the_mask_token_is_the_last_row():
    denoiser = adapted("minilm", (0,))
    words = load_file(open_backbone("minilm").folder / "model.safetensors")[
        "embeddings.word_embeddings.weight"
    ]
    assert torch.equal(denoiser.token.weight[-1], words[3])
    assert torch.equal(denoiser.token.weight[:-1], words)


@pytest.fixture
def roberta(tmp_path):
    torch.manual_seed(0)
    config = transformers.RobertaConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, pad_token_id=1, type_vocab_size=1, hidden_act="gelu",
    )  # fmt: skip
    model = transformers.RobertaModel(config, add_pooling_layer=False).eval()
    _shake(model)
    model.save_pretrained(tmp_path / "roberta")
    return model, tmp_path / "roberta"


def test_roberta_counts_positions_from_two(roberta):
    model, folder = roberta
    tokens = tokens_below(60)
    with torch.no_grad():
        theirs = model(input_ids=tokens, position_ids=torch.arange(3, LENGTH + 3)[None]).last_hidden_state
    torch.testing.assert_close(hidden(adapted(folder, (0, 1)), tokens), theirs, atol=1e-5, rtol=0)


@pytest.fixture(scope="module")
def modernbert(tmp_path_factory):
    torch.manual_seed(0)
    config = transformers.ModernBertConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=48,
        global_attn_every_n_layers=3, local_attention=64, max_position_embeddings=128,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
    )  # fmt: skip
    config._attn_implementation = "eager"
    model = transformers.ModernBertModel(config).eval()
    _shake(model)
    folder = tmp_path_factory.mktemp("modernbert")
    model.save_pretrained(folder)
    return model, folder


def _shake(model):
    """Norms that are not all ones, so that swapping two of them shows."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))


@pytest.mark.parametrize("layers", [(0, 1, 2, 3), (0, 3), (1, 2), (2,)])
def test_modernbert(modernbert, layers):
    model, folder = modernbert
    tokens = tokens_below(60)
    whole = model.layers
    try:
        # Layers know their own number (rotary base, local attention), so a subset is simply run.
        model.layers = torch.nn.ModuleList(whole[layer] for layer in layers)
        kinds = model.config.layer_types
        model.config.layer_types = [kinds[layer] for layer in layers]
        model.config.num_hidden_layers = len(layers)
        with torch.no_grad():
            theirs = model(input_ids=tokens).last_hidden_state
    finally:
        model.layers, model.config.layer_types, model.config.num_hidden_layers = whole, kinds, len(whole)
    torch.testing.assert_close(hidden(adapted(folder, layers), tokens), theirs, atol=1e-5, rtol=0)


def test_weights_under_a_prefix_are_found(modernbert, tmp_path):
    _, folder = modernbert
    tensors = {f"model.{name}": tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, tmp_path / "model.safetensors")
    shutil.copy(folder / "config.json", tmp_path)
    one, other = adapted(folder, (0, 1)), adapted(tmp_path, (0, 1))
    tokens = tokens_below(60)
    assert torch.equal(hidden(one, tokens), hidden(other, tokens))


@pytest.mark.parametrize(
    ("change", "layers", "max_length", "message"),
    [
        ({}, (1, 0), 16, "rising numbers below 4"),
        ({}, (0, 4), 16, "rising numbers below 4"),
        ({}, (), 16, "rising numbers"),
        ({}, (0,), 33, "local attention window"),
        ({"hidden_activation": "silu"}, (0,), 16, "activation 'silu'"),
        ({"mlp_bias": True}, (0,), 16, "with biases"),
        ({"model_type": "t5"}, (0,), 16, "type 't5' is not supported"),
    ],
)
def test_what_does_not_fit_is_refused(modernbert, tmp_path, change, layers, max_length, message):
    _, folder = modernbert
    shutil.copy(folder / "model.safetensors", tmp_path)
    config = json.loads((folder / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=message):
        adapted(tmp_path, layers, max_length=max_length)


def test_more_positions_than_the_backbone_has_are_refused(roberta):
    assert adapted(roberta[1], (0,), max_length=37)
    with pytest.raises(UsageError, match="exceeds the backbone's 37 positions"):
        adapted(roberta[1], (0,), max_length=38)


def test_damaged_and_missing_weights_are_named(modernbert, tmp_path):
    _, folder = modernbert
    shutil.copy(folder / "config.json", tmp_path)
    with pytest.raises(UsageError, match=r"has no model\.safetensors"):
        open_backbone(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])
    with pytest.raises(DataError, match="is damaged"):
        open_backbone(str(tmp_path))
    tensors = load_file(folder / "model.safetensors")
    tensors.pop("layers.1.mlp_norm.weight")
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(UsageError, match=r"no tensor 'layers\.1\.mlp_norm\.weight'"):
        adapted(tmp_path, (0, 1))
