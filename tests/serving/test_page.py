"""The page in a browser: what is typed is answered, by keyboard alone too, and nothing is read as HTML."""

import base64
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from toy_page import (
    FLOATS,
    SHARES,
    TEXTS,
    Translation,
    drawn,
    hypotheses,
    labels,
    loaded,
    nothing,
    relevance,
    with_tag,
)
from toy_server import NUMBERS, TEXT, Function

pytestmark = pytest.mark.slow  # needs a browser: Debian's chromium, or `playwright install chromium`

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsqTe9gAAAABJRU5ErkJggg=="
)
N_BEST = {"n_best": Function({"text": TEXT}, {"text": TEXTS, "score": FLOATS}, hypotheses)}
LABELS = {"label": TEXT, "labels": TEXTS, "probabilities": FLOATS}


def rows(page: Any) -> list[list[str]]:
    page.wait_for_selector("#answer table")
    return [row.locator("td").all_inner_texts() for row in page.locator("#answer tbody tr").all()]


def test_a_text_is_answered_by_keyboard_alone(open_page: Any) -> None:
    page = open_page(loaded(N_BEST))
    assert page.title() == "toy"
    page.keyboard.type("good")  # the field has the focus
    page.keyboard.press("Control+Enter")
    assert rows(page) == [["GOOD", "-0.2500"], ["<b>good", "-1.5000"]]
    page.get_by_role("status").filter(has_text="GOOD (").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "ask"
    page.get_by_label("Text").fill("other")
    page.get_by_role("button", name="Answer").click()
    page.get_by_role("cell", name="OTHER", exact=True).wait_for()


def test_what_an_export_lacks_is_said(open_page: Any) -> None:
    page = open_page(loaded(N_BEST))
    page.get_by_text("This export has no explore, no inspect: its pieces").wait_for()
    whole = open_page(loaded(Translation().signatures()))
    assert not whole.locator("#lacking").is_visible()


@pytest.mark.parametrize(
    ("signatures", "said"),
    [
        (
            {"serving_default": Function({"vectors": SHARES}, {"label": TEXT}, nothing)},
            "This model takes vectors,",
        ),
        (
            {"odd": Function({"text": TEXT}, {"label": TEXT}, nothing)},
            "takes what is not known here, for which",
        ),
    ],
)
def test_a_model_that_the_page_cannot_ask(open_page: Any, signatures: Any, said: str) -> None:
    page = open_page(loaded(signatures, "classify_vectors"))
    page.get_by_text(said).wait_for()
    assert not page.get_by_role("button", name="Answer").is_visible()


def test_an_unknown_input_gets_a_field(open_page: Any) -> None:
    def repeated(text: Any, times: Any) -> Any:
        return {"text": tf.constant([text.numpy()[0] * int(times[0])])}

    function = Function({"text": TEXT, "times": NUMBERS}, {"text": TEXT}, repeated)
    page = open_page(loaded({"serving_default": function}, "shout"))
    page.get_by_label("Text").fill("ab")
    page.get_by_text("Options").click()
    page.get_by_label("times").fill("3")
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("ababab", exact=True).wait_for()


def test_a_picture_gets_bars_and_shows_where_the_model_looked(open_page: Any, tmp_path: Path) -> None:
    signatures = {
        "serving_default": Function({"image": TEXT}, LABELS, labels),
        "relevance": Function({"image": TEXT}, {"relevance": FLOATS}, relevance),
    }
    form = {"height": 2, "width": 2, "channels": 1, "resize": "crop"}
    page = open_page(loaded(signatures, "classify_images", image_form=form))
    assert not page.get_by_label("Text").is_visible()
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Choose a picture first.").wait_for()
    (tmp_path / "a.png").write_bytes(PIXEL)
    page.get_by_label("Picture").set_input_files(str(tmp_path / "a.png"))
    page.get_by_role("button", name="Answer").click()
    assert rows(page) == [["cat", "75.0 %", ""], ["dog", "25.0 %", ""]]
    widths = page.locator("td.bar div").evaluate_all("all => all.map(bar => bar.style.width)")
    assert widths == ["75%", "25%"]
    shading = (
        "canvas => [...canvas.getContext('2d').getImageData(0, 0, 2, 2).data].filter((_, at) => at % 4 === 3)"
    )
    canvas = page.locator(".frame canvas")
    assert canvas.evaluate(shading) == [204, 102, 102, 0]  # of 255: 0.8 where the model looked most
    page.get_by_label("coloured where the model looked").uncheck()
    assert not canvas.is_visible()
    assert page.get_by_role("img").evaluate("image => image.naturalWidth") == 1


def test_a_fault_is_told(open_page: Any) -> None:
    page = open_page(loaded(N_BEST))
    page.route("**/*:predict", lambda route: route.fulfill(status=503, json={"error": "the queue is full"}))
    page.keyboard.type("good")
    page.keyboard.press("Control+Enter")
    page.locator("#state.fault", has_text="the queue is full").wait_for()
    page.route("**/*:predict", lambda route: route.fulfill(status=502, body="<p>Bad gateway"))
    page.keyboard.press("Control+Enter")
    page.locator("#state.fault", has_text="The server answers with status 502.").wait_for()
    page.route("**/*:predict", lambda route: route.abort())
    page.keyboard.press("Control+Enter")
    page.locator("#state.fault", has_text="The server cannot be reached.").wait_for()


def test_a_tag_is_asked_where_there_is_one(open_page: Any) -> None:
    inputs = {"text": TEXT, "tag": TEXT}
    function = Function(inputs, {"text": TEXTS, "score": FLOATS}, with_tag)
    page = open_page(loaded({"n_best": function}, tags=("de", "fr")))
    page.get_by_label("Text").fill("good")
    page.get_by_label("Tag").fill("de")
    assert page.locator("#tags option").evaluate_all("all => all.map(one => one.value)") == ["de", "fr"]
    page.get_by_role("button", name="Answer").click()
    assert rows(page)[0] == ["DE:GOOD", "-0.2500"]


def test_columns_are_lines(open_page: Any) -> None:
    page = open_page(loaded(N_BEST, source_columns=2))
    page.get_by_label("Text, its 2 columns a line each").fill("one\ntwo")
    page.get_by_role("button", name="Answer").click()
    assert rows(page)[0][0] == "ONE\tTWO"


def test_a_generator_has_its_options_open(open_page: Any) -> None:
    inputs = {"text": TEXT, "seed": NUMBERS, "temperature": SHARES, "top_k": NUMBERS, "top_p": SHARES}
    page = open_page(loaded({"sample": Function(inputs, {"text": TEXT, "score": SHARES}, drawn)}, "generate"))
    page.get_by_label("Temperature").fill("-1")
    page.get_by_role("button", name="Answer").click()
    assert page.get_by_label("Temperature").evaluate("field => !field.validity.valid")
    page.get_by_label("Temperature").fill("0.5")
    page.get_by_role("button", name="Answer").click()
    assert rows(page) == [["hund", "-3.0000"]]
