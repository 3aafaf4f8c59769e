import torch

from unembed.model.words_left import WordsLeft

MASK = 6


def words_left(*, scale=(1.0, 0.0, 0.0), used=(-1.0, -0.5), used_word=(0.0,) * 6):
    module = WordsLeft(6)
    with torch.no_grad():
        module.scale.copy_(torch.tensor(scale))
        module.used.copy_(torch.tensor(used))
        module.used_word.copy_(torch.tensor(used_word))
    return module


def test_a_word_in_use_steps_back_once_however_often_it_stands():
    lexical = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]] * 2)
    xt = torch.tensor([[2, 2, MASK], [MASK, MASK, 5]])
    out = words_left()(lexical, xt, xt == MASK, None)
    assert out[0].tolist() == [1.0, 2.0, 3.0 - 1.0 - 1.5, 4.0, 5.0, 6.0]
    assert out[1].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0 - 1.0 - 3.0]


def test_each_word_has_an_amount_of_its_own():
    lexical = torch.zeros(1, 6)
    xt = torch.tensor([[0, 3, MASK]])
    out = words_left(used_word=(0.0, 9.0, 9.0, 2.0, 9.0, 9.0))(lexical, xt, xt == MASK, None)
    assert out[0].tolist() == [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0]


def test_the_rest_speaks_with_the_number_of_masks():
    lexical = torch.ones(2, 6)
    xt = torch.tensor([[MASK, MASK, MASK, MASK], [1, 1, 1, MASK]])
    out = words_left(scale=(1.0, 2.0, 4.0))(lexical, xt, xt == MASK, None)
    assert out[:, 0].tolist() == [1.0 + 2.0 * 1.0 + 4.0 / 4, 1.0 + 2.0 * 0.25 + 4.0 / 1]


def test_nothing_revealed_leaves_the_lexical_logits():
    lexical = torch.randn(3, 6, generator=torch.Generator().manual_seed(0))
    xt = torch.full((3, 4), MASK)
    assert torch.equal(words_left()(lexical, xt, xt == MASK, None), lexical)


def test_among_candidates_a_word_is_found_by_its_place():
    lexical = torch.tensor([[10.0, 20.0]])  # of the entries 1 and 4
    place = torch.tensor([0, 0, 0, 0, 1, 0, 2])
    xt = torch.tensor([[4, MASK]])
    out = words_left(used_word=(0.0, 0.0, 0.0, 0.0, 0.5, 0.0))(lexical, xt, xt == MASK, place)
    assert out.tolist() == [[10.0, 20.0 - 1.0 + 0.5 - 10.0]]


def test_a_penalty_takes_words_in_use_back_further_and_no_others():
    lexical = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    xt = torch.tensor([[2, 4, MASK]])
    plain, other = WordsLeft(6), WordsLeft(6, penalty=0.75)
    less = plain(lexical, xt, xt == MASK, None) - other(lexical, xt, xt == MASK, None)
    assert less[0].tolist() == [0.0, 0.0, 0.75, 0.0, 0.75, 0.0]
