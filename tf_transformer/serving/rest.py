"""TensorFlow Serving's REST interface, with health, metrics and a page, as an ASGI application."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tf_transformer.serving import json_answers, json_tensors, metrics
from tf_transformer.serving.answering import Answering
from tf_transformer.serving.bodies import Bodies
from tf_transformer.serving.descriptions import as_json, metadata_message, status_message
from tf_transformer.serving.fault import Code, Fault, invalid
from tf_transformer.serving.metrics import Metrics
from tf_transformer.serving.page_routes import page_routes
from tf_transformer.serving.signature import Arrays, ServedSignature
from tf_transformer.serving.version import ServedVersion

_LOG = logging.getLogger(__name__)
_PATH = re.compile(
    r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
    r"(?P<rest>:predict|:classify|:regress|/metadata)?",
    re.IGNORECASE | re.ASCII,
)
_MOST_VERSION = 2**63 - 1
_LARGE = 1 << 16
_RETRY = {429, 503}
_CLOSED = 499  # as nginx logs a client that has gone


class Rest:
    """The interface.

    Args:
        answering: Answers.
        bodies: Reads.
        counts: Told of each request.
        stopping: Whether no more requests are taken.
    """

    def __init__(
        self, answering: Answering, bodies: Bodies, counts: Metrics, stopping: Callable[[], bool]
    ) -> None:
        self.answering = answering
        self.bodies = bodies
        self.counts = counts
        self.stopping = stopping

    def application(self) -> Starlette:
        """The application."""
        methods = ["GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return Starlette(
            routes=[
                *page_routes(self.answering.host),
                Route("/healthz", self.health),
                Route("/readyz", self.ready),
                Route("/metrics", self.metrics),
                Route("/monitoring/prometheus/metrics", self.metrics),
                Route("/{path:path}", self.models, methods=methods),
            ],
            exception_handlers={HTTPException: _not_allowed},
        )

    async def health(self, _: Request) -> Response:
        """The process lives."""
        return Response(b'{"status": "alive"}', media_type="application/json")

    async def ready(self, _: Request) -> Response:
        """A version answers, and the server is not about to stop."""
        if self.stopping() or self.answering.host.current is None:
            return refused(Fault(Code.UNAVAILABLE, "not ready"))
        return Response(b'{"status": "ready"}', media_type="application/json")

    async def metrics(self, _: Request) -> Response:
        """For Prometheus."""
        return Response(self.counts.text(), headers={"content-type": metrics.CONTENT_TYPE})

    async def models(self, request: Request) -> Response:
        """All below ``/v1/models``."""
        call = Call(request)
        started = time.perf_counter()
        with self.counts.in_progress.track_inprogress():
            response = await self._guarded(call)
        self.counts.seconds.labels("rest", call.method).observe(time.perf_counter() - started)
        self.counts.requests.labels("rest", call.method, call.signature, str(response.status_code)).inc()
        return response

    async def _guarded(self, call: "Call") -> Response:
        try:
            if self.stopping():
                raise Fault(Code.UNAVAILABLE, "the server is stopping")
            return Response(await self._content(call), media_type="application/json")
        except Fault as fault:
            return refused(fault)
        except Gone:
            return Response(status_code=_CLOSED)
        except Exception:  # whatever one request does, the next one is answered
            _LOG.exception("%s %s", call.request.method, call.request.url.path)
            return refused(Fault(Code.INTERNAL, "an error of the server, which has logged it"))

    async def _content(self, call: "Call") -> bytes:
        call.locate()
        host = self.answering.host
        if call.method == "status":
            return as_json(status_message(host.statuses(call.model, call.version)))
        version = host.find(call.model, call.version)
        if call.method == "metadata":
            return as_json(metadata_message(host.name, version))
        async with self.bodies.reading(call.request) as body:
            return await until_gone(call.request, self._predict(call, version, body))

    async def _predict(self, call: "Call", version: ServedVersion, body: bytes) -> bytes:
        parsed = await _aside(len(body), json_tensors.parse, body)
        signature, inputs, in_rows = await _aside(len(body), _arguments, version, parsed, call.method)
        call.signature = signature.name
        answer = await self.answering.answer(version, signature, inputs)
        write = json_answers.in_rows if in_rows else json_answers.in_columns
        written: bytes = await _aside(sum(array.nbytes for array in answer.values()), write, answer)
        return written


class Call:
    """What a request asks for.

    Args:
        request: The request.

    Attributes:
        method: ``predict``, ``classify``, ``regress``, ``metadata``, ``status``, or ``none``.
        signature: The signature, once it is known.
        model: The model's name.
        version: The version's number, or None.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.method = "none"
        self.signature = ""
        self.model = ""
        self.version: int | None = None

    def locate(self) -> None:
        """Reads the path.

        Raises:
            Fault: When nothing is there.
        """
        method, path = self.request.method, self.request.scope["path"]
        found = _PATH.fullmatch(path)
        rest = (found["rest"] or "").lower() if found else ""
        if found is None or method != ("POST" if rest.startswith(":") else "GET"):
            status = None if path.lower().startswith("/v1/") else 404
            raise Fault(Code.INVALID_ARGUMENT, f"Malformed request: {method} {path[:200]}", status)
        self.method = rest[1:] or "status"
        self.model = found["name"]
        if found["label"]:
            raise invalid(f"versions have no labels here. Received: {found['label'][:60]}")
        if found["version"]:
            self.version = int(found["version"][:20])
            if self.version > _MOST_VERSION:
                raise invalid(f"a version must be at most {_MOST_VERSION}. Received: {found['version'][:60]}")


class Gone(Exception):
    """The client does not wait any more."""


async def until_gone(request: Request, work: Awaitable[bytes]) -> bytes:
    """Waits for work as long as the client does.

    Raises:
        Gone: When the client has closed the connection; the work is cancelled.
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Gone
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _arguments(
    version: ServedVersion, parsed: dict[str, Any], method: str
) -> tuple[ServedSignature, Arrays, bool]:
    """The signature that a body names, its arguments, and whether they are in row format."""
    name = parsed.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(f"'signature_name' must be a string. Received: {json_tensors.brief(name)}")
    signature = version.signature(name)
    if method != "predict":
        raise invalid(f"signature {signature.name} is one for predict, and not for {method}")
    given = [key for key in ("instances", "inputs") if key in parsed]
    if len(given) != 1:
        raise invalid(
            f"the body must have one of 'instances' and 'inputs'. Received: {' and '.join(given) or 'none'}"
        )
    read = json_tensors.from_rows if given == ["instances"] else json_tensors.from_columns
    return signature, read(parsed[given[0]], signature.inputs), given == ["instances"]


async def _aside(size: int, work: Callable[..., Any], *arguments: Any) -> Any:
    """Does work in another thread where it is large enough to keep others waiting."""
    return await asyncio.to_thread(work, *arguments) if size > _LARGE else work(*arguments)


def refused(fault: Fault) -> Response:
    """A fault in TensorFlow Serving's shape."""
    headers = {"retry-after": "1"} if fault.http_status in _RETRY else {}
    content = json_answers.written({"error": fault.reason})
    return Response(content, fault.http_status, headers, media_type="application/json")


async def _not_allowed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    reason = f"Malformed request: {request.method} {request.url.path[:200]}"
    return refused(Fault(Code.INVALID_ARGUMENT, reason, error.status_code))
