"""The web page: its files, and what they are told of the model."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tf_transformer.serving.json_answers import written
from tf_transformer.serving.model_host import ModelHost

_FOLDER = Path(__file__).parent / "page"
_FILES = {
    "/": ("index.html", "text/html"),
    "/page/page.css": ("page.css", "text/css"),
    "/page/page.js": ("page.js", "text/javascript"),
}
_HEADERS = {
    # The page asks no other host, and no other page may frame it.
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
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
        about = {
            "name": host.name,
            "version": version.number,
            "task": version.manifest.task,
            "signatures": {name: list(found.inputs) for name, found in sorted(version.signatures.items())},
        }
        return Response(written(about), headers=_HEADERS, media_type="application/json")

    files = [Route(path, _sender(*file)) for path, file in _FILES.items()]
    return [*files, Route("/page/model.json", described)]


def _sender(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = (_FOLDER / name).read_bytes()

    async def send(_: Request) -> Response:
        return Response(content, headers=_HEADERS, media_type=kind)

    return send
