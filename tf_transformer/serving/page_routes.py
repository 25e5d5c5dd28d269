"""The web page: its files, and what they are told of the model."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tf_transformer.serving.json_answers import written
from tf_transformer.serving.model_host import ModelHost
from tf_transformer.serving.version import ServedVersion

_FOLDER = Path(__file__).parent / "page"
_START = "index.html"
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    # The page asks no other host, runs nothing but its own files, and no other page may frame it.
    "content-security-policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


def page_routes(host: ModelHost) -> list[Route]:
    """The routes of the page.

    Args:
        host: The model that it asks.
    """

    async def described(_: Request) -> Response:
        version = host.current
        if version is None:
            return Response(written({"error": "not ready"}), 503, media_type="application/json")
        about = _about(host.name, version)
        return Response(written(about), headers=_HEADERS, media_type="application/json")

    files = [Route(_address(file), _sender(file)) for file in sorted(_FOLDER.iterdir())]
    return [*files, Route("/page/model.json", described)]


def _about(name: str, version: ServedVersion) -> dict[str, Any]:
    """What the page is told: what it may ask, and in which form."""
    manifest = version.manifest
    return {
        "name": name,
        "version": version.number,
        "task": manifest.task,
        "tags": manifest.tags,
        "columns": manifest.source_columns,
        "image_form": manifest.image_form,
        "signatures": {
            name: {argument: spec.dtype.name for argument, spec in found.inputs.items()}
            for name, found in sorted(version.signatures.items())
        },
    }


def _address(file: Path) -> str:
    return "/" if file.name == _START else f"/page/{file.name}"


def _sender(file: Path) -> Callable[[Request], Awaitable[Response]]:
    content, kind = file.read_bytes(), _KINDS[file.suffix]

    async def send(_: Request) -> Response:
        return Response(content, headers=_HEADERS, media_type=kind)

    return send
