"""Pages in a browser that ask a server whose model a test makes up."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from toy_server import running, write_version


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens the page of a model that is loaded as given; whatever it does wrong fails the test at its end."""
    faults: list[str] = []
    servers: list[Any] = []

    def watch(asked: Any) -> None:
        if "127.0.0.1" not in asked.url and not asked.url.startswith("data:"):
            faults.append(asked.url)

    with ExitStack() as stack:

        def opened(load: Any, folder: Path | None = None, **context: Any) -> Any:
            if folder is None:
                folder = tmp_path / f"model-{len(servers)}"
                write_version(folder, 1)
            server = stack.enter_context(running(folder, load=load))
            servers.append(server)
            page = browser.new_page(**context)
            stack.callback(page.close)
            page.set_default_timeout(20_000)
            page.on("pageerror", lambda error: faults.append(str(error)))
            # Also what the content security policy forbids.
            page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
            page.on("request", watch)
            page.goto(f"http://127.0.0.1:{server.server.port}/")
            page.wait_for_selector("#form[data-ready]", state="attached")
            return page

        yield opened
    # A request that is refused is an error to the browser's console, and no fault of the page.
    assert [fault for fault in faults if not fault.startswith("Failed to load resource")] == []
