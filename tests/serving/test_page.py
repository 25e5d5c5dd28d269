"""The page in a browser: what is typed is answered, by keyboard alone too, and nothing is read as HTML."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf
from toy_server import TEXT, Function, running, write_version

from tf_transformer.manifest import Manifest

pytestmark = pytest.mark.slow  # needs a browser: Debian's chromium, or `playwright install chromium`

FLOATS = tf.TensorSpec([None, 2], tf.float32)
TEXTS = tf.TensorSpec([None, 2], tf.string)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        yield found
        found.close()


def hypotheses(text: Any) -> Any:
    pairs = [[word.upper(), b"<b>" + word] for word in text.numpy().tolist()]
    return {"text": tf.constant(pairs, tf.string), "score": tf.constant([[-0.25, -1.5]] * len(pairs))}


def with_tag(text: Any, tag: Any) -> Any:
    return hypotheses(text=tf.strings.join([tag, text], ":"))


def labels(image: Any) -> Any:
    count = int(tf.size(image))
    return {
        "label": tf.fill([count], b"cat"),
        "labels": tf.constant([[b"dog", b"cat"]] * count),
        "probabilities": tf.constant([[0.25, 0.75]] * count),
    }


def loaded(task: str, has_tag: bool = False) -> Any:
    outputs = {"label": TEXT, "labels": TEXTS, "probabilities": FLOATS}
    signatures = {
        "translate": {"n_best": Function({"text": TEXT}, {"text": TEXTS, "score": FLOATS}, hypotheses)},
        "classify_images": {"serving_default": Function({"image": TEXT}, outputs, labels)},
    }
    if has_tag:
        inputs = {"text": TEXT, "tag": TEXT}
        signatures["translate"]["n_best"] = Function(inputs, {"text": TEXTS, "score": FLOATS}, with_tag)
    form = {"height": 2, "width": 2, "channels": 1} if task == "classify_images" else {}
    manifest = Manifest(task=task, signatures=(), image_form=form, verification={})
    return SimpleNamespace(manifest=manifest, signatures=signatures[task])


@pytest.fixture
def page(browser: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    write_version(tmp_path, 1)
    with running(tmp_path, load=lambda _: loaded(*request.param)) as server:
        found = browser.new_page()
        faults: list[str] = []
        found.on("pageerror", lambda error: faults.append(str(error)))
        found.on("request", lambda asked: faults.append(asked.url) if "127.0.0.1" not in asked.url else None)
        found.goto(f"http://127.0.0.1:{server.server.port}/")
        found.wait_for_selector("#form[data-ready]")
        yield found
        found.close()
        assert [fault for fault in faults if not fault.startswith("data:")] == []


def rows(page: Any) -> list[list[str]]:
    page.wait_for_selector("#answer table")
    return [row.locator("td").all_inner_texts() for row in page.locator("#answer tbody tr").all()]


@pytest.mark.parametrize("page", [("translate",)], indirect=True)
def test_a_text_is_answered_by_keyboard_alone(page: Any) -> None:
    assert page.title() == "toy"
    page.keyboard.type("good")  # the field has the focus
    page.keyboard.press("Control+Enter")
    assert rows(page) == [["GOOD", "-0.2500"], ["<b>good", "-1.5000"]]
    assert page.get_by_role("status").inner_text().startswith("GOOD (")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "ask"
    page.get_by_label("Text").fill("other")
    page.get_by_role("button", name="Answer").click()
    page.get_by_role("cell", name="OTHER", exact=True).wait_for()


@pytest.mark.parametrize("page", [("classify_images",)], indirect=True)
def test_a_picture_gets_bars(page: Any, tmp_path: Path) -> None:
    assert not page.get_by_label("Text").is_visible()
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Choose a picture first.").wait_for()
    (tmp_path / "a.png").write_bytes(b"a picture")
    page.get_by_label("Picture").set_input_files(str(tmp_path / "a.png"))
    page.get_by_role("button", name="Answer").click()
    assert rows(page) == [["cat", "75.0 %", ""], ["dog", "25.0 %", ""]]
    widths = page.locator("td.bar div").evaluate_all("all => all.map(bar => bar.style.width)")
    assert widths == ["75%", "25%"]


@pytest.mark.parametrize("page", [("translate",)], indirect=True)
def test_a_fault_is_told(page: Any) -> None:
    page.route("**/*:predict", lambda route: route.fulfill(status=503, json={"error": "the queue is full"}))
    page.keyboard.type("good")
    page.keyboard.press("Control+Enter")
    page.locator("#state.fault", has_text="the queue is full").wait_for()
    assert page.get_by_role("button", name="Answer").get_attribute("aria-disabled") is None


@pytest.mark.parametrize("page", [("translate", True)], indirect=True)
def test_a_tag_is_asked_where_there_is_one(page: Any) -> None:
    page.get_by_label("Text").fill("good")
    page.get_by_label("Tag").fill("de")
    page.get_by_role("button", name="Answer").click()
    assert rows(page)[0] == ["DE:GOOD", "-0.2500"]
