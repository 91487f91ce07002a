"""Notes of a bundle's writer, metrics and extra, in few bytes: JSON deflated with a preset dictionary.

A run notes its metrics, its spec and digests of its inputs. As plain JSON they are larger than the rest of a small
network's container. Their names and usual values are in the dictionary, so that deflate only has to refer to them.
docs/bundle-format.md specifies the form.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from cnet.bundle.container.errors import reason
from cnet.documents import StrictDocument
from cnet.errors import BundleError

MOST_BYTES = 2**24
"""Notes whose JSON is longer are neither written nor read."""

# A part of the format: it never changes. Later parts are cheaper to refer to, so what every run notes comes last.
DICTIONARY = (
    b'{"name":"binary","ends":true},{"name":"low_rank","energy":0.9,"rank":0.5},{"name":"rate","lambda":1.0,'
    b'"fineness":8.0},{"name":"smallify","gates":"unit","momentum":0.9,"threshold":0.5},{"name":"targeted_dropout",'
    b'"alpha":0.66,"gamma":0.75,"ramp":true,"ends":false},{"name":"group_lasso","groups":"filters"},'
    b'{"name":"hoyer_square"},{"name":"none"},"layers":"l1","l2",{"name":"obd"},{"name":"lamp"},{"name":"uniform",'
    b'"bits":[8]},{"name":"universal","dither":true},{"name":"huffman"},{"name":"npz"},"vgg16_cifar","lenet300_100",'
    b'"resnet56","resnet32","resnet20","scope":"channel","scope":"layer","other":"float16","compressible":{"include":'
    b'["*"],"exclude":["*"]},"preprocess":{"mean":[0.5],"std":[0.5]},"device":"cuda","bfloat16","milestones":[10],'
    b'"distill":{"temperature":4.0,"share":0.9},"baseline":{"epochs":20,"min_ratio":20.0,"max_bytes":10000,'
    b'"metric":{"value":"unit":"higher_is_better":"accuracy_validation":"top5":99.,"snr_db":20.,"kl":0.0,"agreement":99.,'
    b'"sparsity_requested":null,"accuracy":null,"accuracy_before_quantize":null,"loss":null,"label_entropy":4.,"baseline":'
    b'{"accuracy":null,"loss":null,"raw_bytes":,"extra":{"spec":{"prune":{"name":"magnitude","sparsity":[0.9],"scope":'
    b'"network","floor":0.0},"quantize":{"name":"kmeans","scope":"network","clusters":[256]},"encode":{"name":"compact",'
    b'"other":"exact"}},"inputs":{"weights":"","dataset":null}}}{"metrics":{"sparsity_requested":0.9,"clusters_requested":16,"sparsity":0.90000,'
    b'"clusters":16,"accuracy":99.0,"accuracy_before_quantize":99.0,"loss":0.0,"label_entropy":3.,"mse":0.000,'
    b'"quantize":{"name":"ecsq","scope":"network","sensitivity":0.0,"step":0.25,"mu":0.5,"states":32},"baseline":{'
    b'"accuracy":99.,"loss":0.0,"raw_bytes":1000,"npz_bytes":1000,"compressible_npz_bytes":1000,"parameters":1000,'
    b'"compressible_parameters":1000}},"extra":{"spec":{"architecture":{"name":"lenet5"},"method":{"name":"cnet",'
    b'"lambda":0.005,"decay":0.001},"training":{"epochs":30,"batch_size":128,"optimizer":{"name":"adam",'
    b'"learning_rate":0.003,"momentum":0.9,"weight_decay":0.0,"nesterov":false},"schedule":{"name":"constant",'
    b'"milestones":[],"gamma":0.1,"warmup_epochs":0},"augment":{"shift":0,"flip":false},"seed":0,"device":"cpu",'
    b'"precision":"float32"},"prune":{"name":"magnitude","sparsity":[0.9],"scope":"network","floor":0.0,"gradual":{'
    b'"epochs":10,"start":0.0,"rise":0.75,"steps":100}},"recover":{"epochs":10,"centroid_epochs":1,'
    b'"learning_rate":0.001,"reestimate_batch_norm":true,"merge_batch_norm":false},"quantize":{"name":"kmeans",'
    b'"scope":"network","clusters":[16]},"encode":{"name":"compact","other":"exact"},"target":{'
    b'"max_accuracy_drop":1.0}},"inputs":{"weights":"","dataset":""}}}'
)
"""Preset dictionary of the deflate stream, ASCII."""


class Notes(StrictDocument):
    """What a writer notes; None where it notes nothing."""

    metrics: dict[str, JsonValue] | None = None
    extra: dict[str, JsonValue] | None = None


def pack_notes(metrics: Mapping[str, Any] | None, extra: Mapping[str, Any] | None) -> str | None:
    """The notes as the manifest holds them: deflated JSON in URL-safe base64, unpadded; None where there are none.

    Args:
        metrics: plain JSON, or None.
        extra: plain JSON, or None.

    Raises:
        BundleError: JSON cannot hold them, or they are longer than ``MOST_BYTES``.
    """
    notes = {name: note for name, note in (("metrics", metrics), ("extra", extra)) if note is not None}
    if not notes:
        return None
    try:
        text = json.dumps(notes, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise BundleError(
            f"bundle: metrics or extra are not JSON ({error}). Use only text, finite numbers, lists and dictionaries."
        ) from error
    if len(text) > MOST_BYTES:
        raise BundleError(
            f"bundle: metrics and extra have {len(text)} bytes, more than {MOST_BYTES}. Use fewer or shorter values."
        )
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zdict=DICTIONARY)
    return base64.urlsafe_b64encode(deflater.compress(text) + deflater.flush()).rstrip(b"=").decode()


def unpack_notes(packed: str) -> Notes:
    """The notes that ``pack_notes`` packed. Raises BundleError; never inflates more than ``MOST_BYTES``."""
    try:
        deflated = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        inflater = zlib.decompressobj(-15, zdict=DICTIONARY)
        text = inflater.decompress(deflated, MOST_BYTES)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise _refused("they are not deflated JSON") from error
    if not inflater.eof or inflater.unused_data:
        raise _refused(f"they are cut off, or longer than {MOST_BYTES} bytes")
    try:
        return Notes.model_validate(json.loads(text, parse_constant=_refuse_constant))
    except (ValueError, RecursionError) as error:
        raise _refused(f"they are not metrics and extra ({reason(error)})") from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _refused(why: str) -> BundleError:
    return BundleError(f"bundle: its notes cannot be read, {why}. Ask whoever made the file for another one.")
