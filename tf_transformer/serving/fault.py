"""Why a request has no answer, in the codes that gRPC has and in HTTP's."""

from enum import Enum


class Code(Enum):
    """The codes of gRPC that a request may end with, each with its number and its HTTP status."""

    INVALID_ARGUMENT = (3, 400)
    DEADLINE_EXCEEDED = (4, 504)
    NOT_FOUND = (5, 404)
    RESOURCE_EXHAUSTED = (8, 429)
    FAILED_PRECONDITION = (9, 412)
    UNIMPLEMENTED = (12, 501)
    INTERNAL = (13, 500)
    UNAVAILABLE = (14, 503)

    @property
    def number(self) -> int:
        """The code as gRPC counts."""
        return self.value[0]

    @property
    def http_status(self) -> int:
        """The status that TensorFlow Serving's REST interface answers with."""
        return self.value[1]


class Fault(Exception):
    """A request that is not answered.

    Args:
        code: Its kind.
        reason: For the person who has sent it; becomes one line, whatever of the request it repeats.
        http_status: In place of the code's own.
    """

    def __init__(self, code: Code, reason: str, http_status: int | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = " ".join(reason.split())
        self.http_status = http_status or code.http_status


def invalid(reason: str) -> Fault:
    """A request that can never be answered."""
    return Fault(Code.INVALID_ARGUMENT, reason)
