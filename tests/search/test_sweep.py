"""A sweep knows every text that is one likely word away."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from counting import CountingEncoder

from unembed import Inverter
from unembed.decode.guided import Guided
from unembed.search import strategies
from unembed.search.edits import Entries
from unembed.search.guided import GuidedSearch
from unembed.search.sweep import Neighbour, Sweep

WORDS = 3
TEXTS: list[Entries] = [(5, 9, 7), (4, 4, 6, 8, 5), (11,)]


def around(
    inverter: Inverter, texts: list[Entries], targets: np.ndarray, longest: int = 8, known: bool = False
) -> list[list[Neighbour]]:
    lengths = [len(text) if known else None for text in texts]
    found = Sweep(inverter.checkpoint, WORDS).around(texts, targets, longest=longest, lengths=lengths)
    for text, one in zip(texts, found, strict=True):
        assert one.passes == (len(text) if known or len(text) >= longest else 2 * len(text) + 1)
    return [one.neighbours for one in found]


def replaced(text: Entries, other: Entries) -> bool:
    return len(text) == len(other) and sum(a != b for a, b in zip(text, other, strict=True)) == 1


def one_longer(short: Entries, long: Entries) -> bool:
    return any((*long[:i], *long[i + 1 :]) == short for i in range(len(long))) and len(long) == len(short) + 1


def test_all_of_them_are_one_word_away(inverter: Inverter, vectors: np.ndarray) -> None:
    for text, some in zip(TEXTS, around(inverter, TEXTS, vectors[:3]), strict=True):
        entries = [one.entries for one in some]
        assert len(set(entries)) == len(entries)
        for other in entries:
            assert replaced(text, other) or one_longer(text, other) or one_longer(other, text)
        shorter = {(*text[:i], *text[i + 1 :]) for i in range(len(text))} if len(text) > 1 else set()
        assert {other for other in entries if len(other) < len(text)} == shorter
        same = [other for other in entries if len(other) == len(text)]
        assert WORDS * len(text) <= len(same) <= (WORDS + 1) * len(text)


def test_a_known_length_and_the_longest_text_are_kept(inverter: Inverter, vectors: np.ndarray) -> None:
    for text, some in zip(TEXTS, around(inverter, TEXTS, vectors[:3], known=True), strict=True):
        assert some
        assert all(replaced(text, one.entries) for one in some)
    for text, some in zip(TEXTS, around(inverter, TEXTS, vectors[:3], longest=5), strict=True):
        assert max(len(one.entries) for one in some) == min(len(text) + 1, 5)


def test_they_do_not_depend_on_their_company(inverter: Inverter, vectors: np.ndarray) -> None:
    together = around(inverter, TEXTS, vectors[:3])
    for place, text in enumerate(TEXTS):
        [alone] = around(inverter, [text], vectors[place : place + 1])
        assert [one.entries for one in alone] == [one.entries for one in together[place]]


def test_the_words_are_the_denoisers_likeliest(told: Inverter, vectors: np.ndarray) -> None:
    """At the first place, against a pass of our own."""
    checkpoint, (first, *rest) = told.checkpoint, TEXTS[0]
    tokens = torch.tensor([[checkpoint.denoiser.config.mask_id, *rest]])
    vector, banned = torch.from_numpy(vectors[:1]), [checkpoint.vocabulary.unknown]
    model = Guided.read(checkpoint.denoiser, vector, torch.tensor([3]), banned, 0.0)
    wanted = torch.tensor([[True, False, False]])
    with torch.no_grad():
        log_prob = torch.log_softmax(model.logits(tokens, torch.tensor([1 / 3]), wanted), dim=1)[0]
    [some] = around(told, [TEXTS[0]], vectors[:1])
    mine = {one.entries[0]: one.log_prob for one in some if one.entries[1:] == tuple(rest)}
    assert set(mine) == set(log_prob.topk(WORDS + 1).indices.tolist()) - {first}
    for word, value in mine.items():
        assert value == pytest.approx(float(log_prob[word]), abs=1e-4)


@pytest.mark.parametrize("scouted", [False, True])
def test_a_round_embeds_the_promising_ones_first(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, scouted: bool
) -> None:
    """A search of sweeps alone comes nearer, within its budget."""
    settings = strategies.Guided(max_encoder_calls=40, beam=2, proposals=1, sweep=6, words=4, near_enough=2.0)
    search = GuidedSearch(told.checkpoint, encoder, settings, scout=encoder if scouted else None)
    hunts = search.run(vectors[:2], [[TEXTS[0]], [TEXTS[1]]])
    for hunt in hunts:
        assert hunt.calls == 40
        swept = [one for one in hunt.tried.values() if one.made_by == "sweep"]
        assert len(swept) >= 12
        assert all(one.parent in hunt.swept for one in swept)
    assert any(one.made_by == "sweep" for hunt in hunts for one in hunt.history)


def test_leaving_a_word_out_does_not_come_before_every_other_neighbour(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    """Where no scout chooses, the denoiser does, among words put in as among words left out."""
    settings = strategies.Guided(max_encoder_calls=7, beam=1, proposals=1, sweep=6, words=4, near_enough=2.0)
    text = TEXTS[1] + TEXTS[1]  # more words to leave out than texts to embed
    [hunt] = GuidedSearch(told.checkpoint, encoder, settings).run(vectors[:1], [[text]])
    sizes = [len(one.entries) for one in hunt.tried.values() if one.made_by == "sweep"]
    assert sizes
    assert any(size >= len(text) for size in sizes)


def test_leaving_a_word_out_counts_as_one_more_of_its_rivals(told: Inverter, vectors: np.ndarray) -> None:
    text = TEXTS[0]
    [some] = around(told, [text], vectors[:1])
    value = {one.entries: one.log_prob for one in some}
    for place in range(len(text)):
        before, after = text[:place], text[place + 1 :]
        rivals = [
            number
            for entries, number in value.items()
            if len(entries) == len(text) and entries[:place] == before and entries[place + 1 :] == after
        ]
        assert value[before + after] == pytest.approx(np.log(np.exp(rivals).mean()), abs=1e-6)
