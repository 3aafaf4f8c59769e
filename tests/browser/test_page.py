"""What a person does on the page, in a real browser."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from running import PATIENCE, Running

import toy
from unembed import Inverter

TEXT = toy.sentences(1)[0]
expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.slow


def encode(page: object, text: str = TEXT) -> None:
    page.fill("#text", text)
    page.click("#encode")
    page.wait_for_selector("#invert-panel:not([hidden])")


def invert(page: object) -> None:
    page.click("#invert")
    page.wait_for_selector("#result-panel:not([hidden])")


def recovered(page: object) -> str:
    return page.inner_text(".recovered")


def test_a_sentence_comes_back(page: object, inverter: Inverter) -> None:
    encode(page)
    assert page.is_hidden("#text")
    assert "64 numbers" in page.inner_text("#vector-note")
    assert page.evaluate("new Set(document.getElementById('strip').getContext('2d')"
                         ".getImageData(0, 0, 600, 1).data).size") > 8  # fmt: skip
    invert(page)
    expected = inverter.invert(inverter.encode([TEXT])[0], n_best=4)
    assert recovered(page) == expected.text
    assert "Token accuracy" in page.inner_text(".figures")
    assert "Cosine" in page.inner_text(".figures")
    assert page.locator(".n-best li").count() == len(expected.alternatives)
    assert expected.text in page.inner_text("#live")
    assert page.locator(".tok.mask").count() == 0
    assert page.locator(".tok").count() == len(expected.tokens)
    readout = page.inner_text(".readout")
    assert re.search(r"step \d+ of \d+", readout)
    assert f"passes {expected.forward_passes}" in readout


def test_the_steps_can_be_walked(page: object) -> None:
    encode(page)
    invert(page)
    page.focus(".scrub input")
    page.keyboard.press("Home")
    expect(page.locator(".tok:not(.mask)")).to_have_count(0)
    page.keyboard.press("End")
    expect(page.locator(".tok.mask")).to_have_count(0)


def test_the_numbers_and_the_dice(page: object) -> None:
    page.click("#dice")
    assert len(page.input_value("#text")) > 10
    encode(page)
    page.click("#numbers summary")
    expect(page.locator("#numbers-text")).to_be_visible()
    assert len(page.inner_text("#numbers-text").split()) == 64
    page.click("#peek")
    expect(page.locator("#veil-text")).to_have_text(TEXT)


def test_noise_and_precision_read_the_vector_again(page: object) -> None:
    encode(page)
    invert(page)
    page.check("input[value=binary]", force=True)
    page.wait_for_selector(".exposure .bar:nth-of-type(2)")
    assert "8 bytes" in page.inner_text("#spoil-note")
    page.evaluate("() => { const n = document.getElementById('noise'); n.value = 1.5;"
                  " n.dispatchEvent(new Event('input')); }")  # fmt: skip
    page.wait_for_selector(".exposure .bar:nth-of-type(3)")
    assert "noise 150 %, binary" in page.inner_text(".exposure")
    assert page.inner_text("#noise-out") == "150 %"


def test_a_pasted_vector_is_read_without_a_text(page: object, inverter: Inverter) -> None:
    vector = inverter.encode([TEXT])[0]
    page.check("input[value=vector]", force=True)
    page.fill("#vector", json.dumps(vector.tolist()))
    page.click("#vector-form button.primary")
    invert(page)
    assert recovered(page) == inverter.invert(vector, n_best=4).text
    assert "Original" not in page.inner_text("#results")


@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f4", "<f2"])
def test_an_npy_file(page: object, inverter: Inverter, dtype: str) -> None:
    vector = inverter.encode([TEXT])
    file = io.BytesIO()
    np.save(file, vector.astype(dtype))
    page.check("input[value=vector]", force=True)
    page.set_input_files("#npy", {"name": "v.npy", "mimeType": "", "buffer": file.getvalue()})
    page.wait_for_selector("#invert-panel:not([hidden])")
    page.click("#numbers summary")
    expect(page.locator("#numbers-text")).to_be_visible()
    shown = [float(number) for number in page.inner_text("#numbers-text").split()]
    assert np.allclose(shown, vector[0], atol=1e-3)


def test_what_does_not_fit_is_told(page: object) -> None:
    page.check("input[value=vector]", force=True)
    for typed, message in (("[1, 2, 3]", "3 numbers"), ("hello", "not JSON"), ('["a"]', "not a number")):
        page.fill("#vector", typed)
        page.click("#vector-form button.primary")
        expect(page.locator("#problem")).to_contain_text(message)
    page.click("#problem button")
    expect(page.locator("#problem")).to_be_hidden()


def test_two_strategies_side_by_side_and_a_link_to_them(page: object) -> None:
    encode(page)
    page.select_option("#versus", "sequential")
    page.fill("#lengths", "2")
    invert(page)
    assert page.locator(".stage").count() == page.locator(".outcome").count() == 2
    before = page.inner_text("#results")
    page.reload()
    page.wait_for_selector("#result-panel:not([hidden])")
    assert page.inner_text("#results") == before
    assert page.input_value("#versus") == "sequential"


def test_both_strategies_are_described_and_the_button_stays_in_its_row(page: object) -> None:
    encode(page)
    assert page.inner_text("#strategy-note").startswith("confidence: ")
    page.select_option("#strategy", "guided")
    page.select_option("#versus", "sequential")
    first, second = page.inner_text("#strategy-note").splitlines()
    assert first.startswith("guided: ")
    assert second.startswith("sequential: ")
    assert "`" not in first + second
    field, button = page.locator("#calls").bounding_box(), page.locator("#invert").bounding_box()
    assert button["x"] > field["x"]
    assert button["y"] < field["y"] + field["height"]
    form = page.locator("#invert-form").bounding_box()
    assert button["x"] + button["width"] <= form["x"] + form["width"] + 1


def test_the_time_of_a_strategy_does_not_include_its_wait(page: object) -> None:
    """Two strategies that are compared queue up, the second behind the first."""

    def delayed(route: object) -> None:
        response = route.fetch()
        times = '"seconds": 1.5, "waited": 3.25'
        body, changed = re.subn(r'"seconds": [\d.e-]+, "waited": [\d.e-]+', times, response.text())
        assert changed == 1
        route.fulfill(response=response, body=body)

    page.route("**/api/invert/stream", delayed)
    encode(page)
    invert(page)
    readout = page.inner_text(".readout")
    assert "time 1.50 s" in readout
    assert "waited 3.25 s" in readout


def test_a_guided_search_comes_nearer(page: object, inverter: Inverter) -> None:
    assert page.is_hidden("#calls")
    encode(page)
    page.select_option("#strategy", "guided")
    assert page.input_value("#calls") == "500"
    page.fill("#calls", "120")
    invert(page)
    expected = inverter.invert(inverter.encode([TEXT])[0], strategy="guided", max_encoder_calls=120, n_best=4)
    assert recovered(page) == expected.text
    readout = page.inner_text(".readout")
    assert f"encoder calls {expected.encoder_calls}" in readout
    last = float(re.search(r"cosine ([\d.]+)", readout)[1])
    page.focus(".scrub input")
    page.keyboard.press("Home")
    expect(page.locator(".readout")).to_contain_text("nearer text 0 of")
    readout = page.inner_text(".readout")
    assert float(re.search(r"cosine ([\d.]+)", readout)[1]) < last
    assert page.is_hidden("#confidence-legend")
    before = page.inner_text("#results")
    page.reload()
    page.wait_for_selector("#result-panel:not([hidden])")
    assert page.inner_text("#results") == before
    assert page.input_value("#calls") == "120"


def test_keyboard_only(page: object) -> None:
    page.focus("#text")
    page.keyboard.type(TEXT)
    page.keyboard.press("Enter")
    page.wait_for_selector("#invert-panel:not([hidden])")
    expect(page.locator("#invert")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_selector("#result-panel:not([hidden])")
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#lengths")).to_be_focused()


def test_the_theme_switches_and_stays(page: object) -> None:
    before = page.get_attribute("html", "data-theme")
    page.click("#theme")
    after = page.get_attribute("html", "data-theme")
    assert {before, after} == {"light", "dark"}
    page.reload()
    assert page.get_attribute("html", "data-theme") == after


def test_nothing_is_wider_than_a_phone(page: object) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    encode(page)
    invert(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_token_is_asked_for_and_taken_from_the_link(browser: object, inverter: Inverter) -> None:
    with Running(inverter, token="a-long-enough-token", local=False) as server:
        page = browser.new_context().new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(server.url)
        page.fill("#problem input", "a-long-enough-token")
        page.click("#problem button")
        page.wait_for_selector("html[data-ready]", state="attached")
        page = browser.new_context().new_page()
        page.goto(f"{server.url}#token=a-long-enough-token")
        page.wait_for_selector("html[data-ready]", state="attached", timeout=PATIENCE)
        assert "token" not in page.url


def test_the_masks_dissolve_step_by_step(browser: object, server: Running, inverter: Inverter) -> None:
    texts = toy.sentences(30)
    sizes = [len(found.tokens) for found in inverter.invert(inverter.encode(texts))]
    page = browser.new_context(reduced_motion="no-preference").new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(server.url)
    page.wait_for_selector("html[data-ready]", state="attached")
    encode(page, texts[sizes.index(max(sizes))])
    page.evaluate("""() => {
        window.seen = new Set();
        const stages = document.getElementById("stages");
        new MutationObserver(() => seen.add(stages.querySelectorAll(".tok.mask").length)).observe(
            stages, { childList: true, subtree: true });
    }""")
    invert(page)
    counts = page.evaluate("[...seen]")
    assert 0 in counts
    assert len(counts) >= 3


def test_a_script_from_right_to_left(page: object) -> None:
    """Boxes run from the right, and letters at a box's edge keep the shapes that they have in the word."""
    found = page.evaluate("""async () => {
      const { Stage } = await import('/static/js/stage.js');
      const stage = new Stage('test');
      document.body.append(stage.element);
      const piece = (text, joined) => ({ text, joined, confidence: 0.9 });
      stage.draw([piece('أريد', false), piece('كتا', false), piece('با', true), piece('.', true)]);
      const boxes = [...stage.tokens.children].map((token) => token.getBoundingClientRect().left);
      return { boxes, texts: [...stage.tokens.children].map((token) => token.textContent) };
    }""")
    assert found["boxes"] == sorted(found["boxes"], reverse=True)
    assert found["texts"] == ["أريد", "كتا\u200d", "\u200dبا", "."]
    page.fill("#text", "أريد كتابا جديدا.")
    assert page.evaluate("getComputedStyle(document.getElementById('text')).direction") == "rtl"
