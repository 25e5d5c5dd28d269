"""What is told of a model: TensorFlow Serving's messages on versions and signatures."""

import json
from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from tf_transformer.serving.fault import Code
from tf_transformer.serving.model_host import Phase, Status
from tf_transformer.serving.version import ServedVersion

SIGNATURE_DEF = "signature_def"


def status_message(statuses: Mapping[int, Status]) -> Any:
    """A ``GetModelStatusResponse``."""
    message = get_model_status_pb2.GetModelStatusResponse()
    for number, status in statuses.items():
        one = message.model_version_status.add(version=number, state=int(status.phase))
        failed = status.phase is Phase.END and bool(status.fault)
        one.status.error_code = Code.INTERNAL.number if failed else 0
        one.status.error_message = status.fault
    return message


def metadata_message(name: str, version: ServedVersion) -> Any:
    """A ``GetModelMetadataResponse`` with the signatures."""
    message = get_model_metadata_pb2.GetModelMetadataResponse()
    message.model_spec.name = name
    message.model_spec.version.value = version.number
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for key, definition in version.definitions.items():
        signatures.signature_def[key].CopyFrom(definition)
    message.metadata[SIGNATURE_DEF].Pack(signatures)
    return message


def as_json(message: Any) -> bytes:
    """A message as TensorFlow Serving's REST interface writes it."""
    content = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    for packed in content.get("metadata", {}).values():
        packed.pop("@type", None)
    return json.dumps(content, indent=1).encode("utf-8")
