"""TensorFlow Serving's gRPC services: what its own client stubs call."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tf_transformer.serving.answering import Answering
from tf_transformer.serving.descriptions import SIGNATURE_DEF, metadata_message, status_message
from tf_transformer.serving.fault import Code, Fault, invalid
from tf_transformer.serving.held_bytes import HeldBytes
from tf_transformer.serving.metrics import Metrics
from tf_transformer.serving.signature import ServedSignature
from tf_transformer.serving.tensor_protos import to_array, to_proto

_LOG = logging.getLogger(__name__)


class Services(
    prediction_service_pb2_grpc.PredictionServiceServicer, model_service_pb2_grpc.ModelServiceServicer
):
    """Both services.

    Args:
        answering: Answers.
        held: What all requests may hold.
        counts: Told of each request.
    """

    def __init__(self, answering: Answering, held: HeldBytes, counts: Metrics) -> None:
        self.answering = answering
        self.held = held
        self.counts = counts

    def register(self, server: grpc.aio.Server) -> None:
        """Makes a server answer for them."""
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(self, server)
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(self, server)

    async def Predict(self, request: Any, context: Any) -> Any:
        """Runs a signature."""
        return await self._guarded("predict", self._predict, request, context)

    async def GetModelMetadata(self, request: Any, context: Any) -> Any:
        """Describes the signatures."""
        return await self._guarded("metadata", self._metadata, request, context)

    async def GetModelStatus(self, request: Any, context: Any) -> Any:
        """Says where the versions stand."""
        return await self._guarded("status", self._status, request, context)

    async def Classify(self, request: Any, context: Any) -> Any:
        """Is for signatures that an export here does not have."""
        return await self._guarded("classify", self._refuse_examples, request, context)

    async def Regress(self, request: Any, context: Any) -> Any:
        """Is for signatures that an export here does not have."""
        return await self._guarded("regress", self._refuse_examples, request, context)

    async def MultiInference(self, request: Any, context: Any) -> Any:
        """Is for signatures that an export here does not have."""
        return await self._guarded("multi_inference", self._refuse, request, context)

    async def HandleReloadConfigRequest(self, request: Any, context: Any) -> Any:
        """Is not for clients: versions come and go with their folders."""
        return await self._guarded("reload", self._refuse, request, context)

    async def _guarded(
        self, method: str, work: Callable[[Any, "Asked"], Awaitable[Any]], request: Any, context: Any
    ) -> Any:
        """Does work; what fails is a status, and whatever one request does, the next one is answered."""
        asked, started, code = Asked(context), time.perf_counter(), "OK"
        try:
            with self.counts.in_progress.track_inprogress(), self.held.holding() as share:
                share.add(request.ByteSize())
                return await work(request, asked)
        except asyncio.CancelledError:  # the client has gone, or its deadline has passed
            code = "CANCELLED"
            raise
        except Fault as fault:
            code, reason = fault.code.name, fault.reason
        except Exception:
            _LOG.exception("%s", method)
            code, reason = Code.INTERNAL.name, "an error of the server, which has logged it"
        finally:
            self.counts.seconds.labels("grpc", method).observe(time.perf_counter() - started)
            self.counts.requests.labels("grpc", method, asked.signature, code).inc()
        await context.abort(grpc.StatusCode[code], reason)

    async def _predict(self, request: Any, asked: "Asked") -> Any:
        version = self.answering.host.find(*_model(request.model_spec))
        signature = version.signature(request.model_spec.signature_name)
        asked.signature = signature.name
        if extra := request.inputs.keys() - signature.inputs.keys():
            raise invalid(
                f"inputs of signature {signature.name} must be {', '.join(signature.inputs)}. "
                f"Received: {', '.join(sorted(extra))[:60]}"
            )
        wanted = _wanted(signature, request.output_filter)
        inputs = {
            name: to_array(proto, signature.inputs[name], name) for name, proto in request.inputs.items()
        }
        answer = await self.answering.answer(version, signature, inputs, asked.seconds)
        response = predict_pb2.PredictResponse()
        response.model_spec.name = self.answering.host.name
        response.model_spec.version.value = version.number
        response.model_spec.signature_name = signature.name
        for name in wanted:
            response.outputs[name].CopyFrom(to_proto(answer[name]))
        return response

    async def _metadata(self, request: Any, _: "Asked") -> Any:
        fields = list(request.metadata_field)
        if fields != [SIGNATURE_DEF]:
            raise invalid(
                f"metadata_field must be {SIGNATURE_DEF}. Received: {', '.join(fields)[:60] or 'none'}"
            )
        version = self.answering.host.find(*_model(request.model_spec))
        return metadata_message(self.answering.host.name, version)

    async def _status(self, request: Any, _: "Asked") -> Any:
        return status_message(self.answering.host.statuses(*_model(request.model_spec)))

    async def _refuse_examples(self, request: Any, asked: "Asked") -> Any:
        version = self.answering.host.find(*_model(request.model_spec))
        signature = version.signature(request.model_spec.signature_name)
        raise invalid(f"signature {signature.name} is one for Predict")

    async def _refuse(self, _: Any, __: "Asked") -> Any:
        raise Fault(Code.UNIMPLEMENTED, "is not offered here")


class Asked:
    """What is known of a request beside its message.

    Args:
        context: gRPC's.

    Attributes:
        signature: The signature, once it is known.
    """

    def __init__(self, context: Any) -> None:
        self.signature = ""
        self._context = context

    @property
    def seconds(self) -> float | None:
        """How long the client waits, None for as long as need be."""
        left: float | None = self._context.time_remaining()
        return left


def _model(spec: Any) -> tuple[str, int | None]:
    """The model and the version that a request names."""
    if not spec.name:
        raise invalid("model_spec must have a name. Received: none")
    if spec.version_label:
        raise invalid(f"versions have no labels here. Received: {spec.version_label[:60]}")
    return spec.name, spec.version.value if spec.HasField("version") else None


def _wanted(signature: ServedSignature, chosen: Any) -> list[str]:
    names = list(dict.fromkeys(chosen)) or list(signature.outputs)
    if unknown := set(names) - set(signature.outputs):
        given = ", ".join(sorted(unknown))[:60]
        raise invalid(f"output_filter must name {', '.join(signature.outputs)}. Received: {given}")
    return names
