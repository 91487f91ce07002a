"""What schemathesis must be told of this API: chunks of uploads are bytes. It loads this module by its name."""

from __future__ import annotations

import schemathesis

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
