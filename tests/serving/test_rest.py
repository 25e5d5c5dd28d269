"""TensorFlow Serving's REST contract, request by request, and a server that outlives all of them."""

import gzip
import json
import re
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toy_server import Running, running, write_version

PREDICT = "/v1/models/toy:predict"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("rest")
    write_version(folder, 3)
    with running(folder, body=1 << 20, batch={"rows": 8, "queue": 50}) as found:
        yield found


def rows(*texts: Any, **more: Any) -> bytes:
    return json.dumps({"instances": list(texts), **more}).encode()


@pytest.mark.parametrize("path", [PREDICT, "/v1/models/toy/versions/3:predict", "/V1/MODELS/toy:PREDICT"])
def test_rows_and_columns(server: Running, path: str) -> None:
    expected = [{"text": "ba", "version": 3}, {"text": "", "version": 3}]
    assert server.predict({"instances": ["ab", ""]}, path) == (200, {"predictions": expected})
    assert server.predict({"instances": [{"text": "ab"}, {"text": ""}]}, path)[1] == {"predictions": expected}
    outputs = {"text": ["ba"], "version": [3]}
    assert server.predict({"inputs": ["ab"]}, path) == (200, {"outputs": outputs})
    assert server.predict({"inputs": {"text": [{"b64": "YWI="}]}}, path) == (200, {"outputs": outputs})
    assert server.predict({"inputs": []}, path) == (200, {"outputs": {"text": [], "version": []}})


def test_another_signature(server: Running) -> None:
    asked = {"signature_name": "twice", "instances": [{"text": "ab", "times": 2}, {"text": "c", "times": 0}]}
    assert server.predict(asked) == (200, {"predictions": [{"b64": "YWJhYg=="}, {"b64": ""}]})
    asked = {"signature_name": "scaled", "inputs": {"text": ["abc"], "by": 0.5}}
    assert server.predict(asked) == (200, {"outputs": [1.5]})
    asked = {"signature_name": "whole", "inputs": ["a", "b"]}
    assert server.predict(asked) == (200, {"outputs": 2})


def test_a_request_of_many_rows_is_answered_in_parts(server: Running) -> None:
    texts = [f"text {number}" for number in range(41)]
    status, found = server.predict({"instances": texts})
    assert status == 200
    assert [row["text"] for row in found["predictions"]] == [text[::-1] for text in texts]
    sizes = server.toys.loaded[3].signatures["serving_default"].sizes
    assert sizes[-6:] == [8, 8, 8, 8, 8, 1]


DEEP = b'{"instances": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
REFUSED: list[tuple[str, bytes, int, str]] = [
    ("empty", b"", 400, "JSON Parse error"),
    ("no JSON", b'{"instances": ["a"', 400, "JSON Parse error"),
    ("binary", bytes(range(256)), 400, "JSON Parse error"),
    ("no object", b'["a"]', 400, 'the body must be a JSON object. Received: ["a"]'),
    ("nested lists", DEEP, 400, "JSON Parse error: nested too deeply"),
    ("nested texts", rows(["a"], ["b"]), 400, "input text must have shape [?]. Received: [2, 1]"),
    ("ragged", rows(["a"], ["b", "c"]), 400, "lists at one depth must be equally long"),
    ("no input", b"{}", 400, "must have one of 'instances' and 'inputs'. Received: none"),
    ("both", b'{"instances": ["a"], "inputs": ["a"]}', 400, "Received: instances and inputs"),
    ("empty list", rows(), 400, "'instances' must hold at least one value. Received: an empty list"),
    ("no list", b'{"instances": "a"}', 400, "'instances' must be a list"),
    ("wrong type", rows(1), 400, "input text must be of type string. Received: 1"),
    ("null", rows(None), 400, "input text must be of type string. Received: null"),
    ("half a character", b'{"instances": ["\\ud800"]}', 400, "no valid Unicode"),
    ("wrong base64", rows({"b64": "?"}), 400, "no valid base64"),
    ("wrong key", rows({"txt": "a"}), 400, "keys must be text"),
    ("unknown signature", rows("a", signature_name="none"), 400, "signature_name must be one of scaled, "),
    ("odd signature", rows("a", signature_name=3), 400, "'signature_name' must be a string. Received: 3"),
    ("half a name", rows("a", signature_name="\ud800"), 400, "signature_name must be one of scaled, "),
    ("two lines", rows("a", signature_name="a\nb"), 400, "whole. Received: a b"),
    ("missing input", rows("a", signature_name="twice"), 400, "must be objects of text, times"),
    (
        "unequal columns",
        b'{"signature_name": "twice", "inputs": {"text": ["a"], "times": [1, 2]}}',
        400,
        "inputs must have equally many rows. Received: 1 of text, 2 of times",
    ),
    ("no rows", rows("a", signature_name="whole"), 400, "ask for them by 'inputs'. They are count []"),
    ("more than run", rows(*"a" * 9, signature_name="whole"), 400, "at most 8 rows. Received: 9"),
    ("more than wait", rows(*"a" * 51), 400, "a request must have at most 50 rows. Received: 51"),
    ("refused by the graph", rows("poison"), 400, "poison is no word"),
    ("a fault of the server", rows("bug"), 500, "cannot be run: nobody knows"),
    ("too large", rows("a" * (1 << 20)), 413, "the body must have at most 1,048,576 bytes"),
]


@pytest.mark.parametrize(
    ("body", "status", "message"), [row[1:] for row in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_what_is_refused(server: Running, body: bytes, status: int, message: str) -> None:
    found, content = server.predict(body)
    assert found == status, content
    assert list(content) == ["error"] and message in content["error"] and "\n" not in content["error"]
    assert server.predict({"instances": ["ab"]})[0] == 200


def test_a_line_of_a_megabyte_is_answered(server: Running) -> None:
    line = "ab " * 300_000
    status, found = server.predict({"inputs": [line]})
    assert status == 200 and found["outputs"]["text"] == [line[::-1]]


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/v1/models/other", 404, "the model here is toy. Received: other"),
        ("GET", "/v1/models/toy/versions/4", 404, "Received: 4"),
        ("GET", "/v1/models/other/metadata", 404, "the model here is toy"),
        ("POST", "/v1/models/other:predict", 404, "the model here is toy"),
        ("POST", "/v1/models/toy/versions/4:predict", 404, "toy is served in version 3. Received: 4"),
        ("POST", f"/v1/models/toy/versions/{9**30}:predict", 400, "a version must be at most"),
        ("GET", "/v1/models/a%0Ab", 404, "Malformed request: GET /v1/models/ab"),
        (
            "GET",
            "/v1/models/toy/versions/%D9%A3",
            400,
            "Malformed request: GET /v1/models/toy/versions/\u0663",
        ),
        ("POST", "/v1/models/toy/labels/best:predict", 400, "versions have no labels here. Received: best"),
        ("POST", "/v1/models/toy:classify", 400, "signature serving_default is one for predict, and not"),
        ("POST", "/v1/models/toy:regress", 400, "and not for regress"),
        ("POST", "/v1/models/toy:explain", 400, "Malformed request: POST /v1/models/toy:explain"),
        ("GET", "/v1/models/toy:predict", 400, "Malformed request: GET /v1/models/toy:predict"),
        ("POST", "/v1/models/toy", 400, "Malformed request: POST /v1/models/toy"),
        ("GET", "/v1/models", 400, "Malformed request: GET /v1/models"),
        ("DELETE", "/v1/models/toy", 400, "Malformed request: DELETE"),
        ("GET", "/v2/models/toy", 404, "Malformed request: GET /v2/models/toy"),
        ("POST", "/metrics", 404, "Malformed request: POST /metrics"),
    ],
)
def test_addresses_that_are_refused(
    server: Running, method: str, path: str, status: int, message: str
) -> None:
    found, content = server.send(method, path, b'{"instances": ["a"]}' if method == "POST" else None)
    assert (found, list(content)) == (status, ["error"]) and message in content["error"]


def test_what_is_told_of_the_model(server: Running) -> None:
    state = {"version": "3", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
    for path in ("/v1/models/toy", "/v1/models/toy/versions/3"):
        assert server.send("GET", path) == (200, {"model_version_status": [state]})
    status, found = server.send("GET", "/v1/models/toy/metadata")
    assert status == 200
    assert found["model_spec"] == {"name": "toy", "version": "3", "signature_name": ""}
    signatures = found["metadata"]["signature_def"]["signature_def"]
    assert signatures["serving_default"]["method_name"] == "tensorflow/serving/predict"


@pytest.mark.parametrize(
    ("path", "kind", "content"),
    [
        ("/", "text/html; charset=utf-8", b"<!doctype html>"),
        ("/page/page.css", "text/css; charset=utf-8", b":root"),
        ("/page/page.js", "text/javascript; charset=utf-8", b"// The page"),
    ],
)
def test_the_page_asks_no_other_host(server: Running, path: str, kind: str, content: bytes) -> None:
    connection = server.connect()
    connection.request("GET", path)
    response = connection.getresponse()
    found = response.read()
    connection.close()
    assert (response.status, response.headers["content-type"]) == (200, kind)
    assert found.startswith(content) and not re.search(rb"""["'(`](https?:)?//""", found)
    assert response.headers["content-security-policy"].startswith("default-src 'self'")


def test_what_the_page_is_told(server: Running) -> None:
    status, found = server.send("GET", "/page/model.json")
    assert (status, found["name"], found["version"], found["task"]) == (200, "toy", 3, "translate")
    assert found["signatures"]["twice"] == {"text": "string", "times": "int32"}
    assert (found["tags"], found["columns"], found["image_form"]) == ([], 1, {})


def test_health_and_metrics(server: Running) -> None:
    assert server.send("GET", "/healthz") == (200, {"status": "alive"})
    assert server.send("GET", "/readyz") == (200, {"status": "ready"})
    server.predict({"instances": ["a"]})
    for path in ("/metrics", "/monitoring/prometheus/metrics"):
        status, text = server.send("GET", path)
        assert status == 200
    labels = 'code="200",interface="rest",method="predict",signature="serving_default"'
    assert f"tf_transformer_requests_total{{{labels}}}".encode() in text
    assert b'tf_transformer_version_phase{model="toy",version="3"} 30.0' in text
    assert b"tf_transformer_queue_rows 0.0" in text and b"tf_transformer_batch_rows_bucket" in text


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_packed_bodies(server: Running, name: str, pack: Any) -> None:
    headers = {"content-encoding": name}
    packed = pack(rows("ab"))
    assert server.send("POST", PREDICT, packed, headers)[0] == 200
    assert server.send("POST", PREDICT, packed[:-9], headers)[1]["error"].endswith("it ends too early")
    assert server.send("POST", PREDICT, b"ab", headers) == (400, {"error": f"the body is no valid {name}"})
    bomb = server.send("POST", PREDICT, pack(b" " * (2 << 20)), headers)
    assert bomb == (413, {"error": "the body must have at most 1,048,576 bytes"})


def test_an_unknown_encoding(server: Running) -> None:
    found = server.send("POST", PREDICT, rows("a"), {"content-encoding": "br"})
    assert found == (415, {"error": "Content-Encoding must be gzip or deflate. Received: br"})


def test_what_is_no_http_at_all(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", server.server.port), 20) as raw:
        raw.sendall(b"\x16\x03\x01\x00binary\r\n\r\n")
        assert raw.recv(1000).startswith(b"HTTP/1.1 400")
    assert server.predict({"instances": ["ab"]})[0] == 200


def test_a_body_must_come_in_time(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    with running(tmp_path, timeout=2) as server:
        slow = server.connect()
        slow.putrequest("POST", PREDICT)
        slow.putheader("Content-Length", "99")
        slow.endheaders(b"{")
        assert server.predict({"instances": ["ab"]})[0] == 200  # nobody else waits for it
        response = slow.getresponse()
        assert response.status == 408
        assert json.loads(response.read()) == {"error": "the body must come within 2 seconds"}
        slow.close()


def test_requests_together_have_a_bound_of_memory() -> None:
    from tf_transformer.serving.fault import Fault
    from tf_transformer.serving.held_bytes import HeldBytes

    held = HeldBytes(7)
    full = r"requests of 5 bytes are being answered, at most 7 may\. Try again"
    with held.holding() as first:
        first.add(5)
        with pytest.raises(Fault, match=full) as found, held.holding() as second:
            second.add(3)
        assert found.value.http_status == 429
    assert held.count == 0
