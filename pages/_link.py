"""A run and a step as one URL parameter: versioned JSON, deflated, base64url.

A link is typed by anyone, so nothing in it is trusted.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib

from engine.decoding.errors import SpecError
from engine.decoding.records import RunSpec
from engine.decoding.spec import spec_from_dict, spec_to_dict

PARAMETER = "run"
VERSION = "2"
MAX_PACKED = 100_000  # characters in the URL
MAX_UNPACKED = 4_000_000  # bytes of JSON


class LinkError(ValueError):
    """A link that holds no run; the message says what is wrong with it."""


def pack(spec: RunSpec, step: int) -> str:
    """The URL parameter for `spec` at `step`."""
    text = json.dumps({"spec": spec_to_dict(spec), "step": step}, separators=(",", ":"), ensure_ascii=False)
    return f"{VERSION}.{base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip('=')}"


def unpack(parameter: str) -> tuple[RunSpec, int]:
    """The run and the step in a URL parameter. Raises LinkError."""
    version, dot, body = parameter.partition(".")
    if not dot or version != VERSION:
        raise LinkError(
            "This link is damaged or comes from another version of Maskscope. Ask for it again, or start a run below."
        )
    if len(body) > MAX_PACKED:
        raise LinkError(f"This link is too long ({len(body):,} characters; {MAX_PACKED:,} are the limit).")
    try:
        value = json.loads(_inflate(base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)))
        spec, step = spec_from_dict(value["spec"]), value["step"]
        if not isinstance(step, int) or isinstance(step, bool) or step < 0:
            raise SpecError("step must be a whole number.")
    except SpecError as error:
        raise LinkError(f"This link holds no run that can be made: {error}") from error
    except (binascii.Error, zlib.error, KeyError, TypeError, ValueError, RecursionError) as error:
        raise LinkError(
            "This link is damaged: a part of it is missing or was changed. Copy the whole of it and try again."
        ) from error
    return spec, step


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    text = inflater.decompress(data, MAX_UNPACKED)
    if inflater.unconsumed_tail or not inflater.eof:
        raise ValueError("cut short, or larger than any link of ours")
    return text
