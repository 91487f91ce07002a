"""What a job can be made of, from the library's registries."""

from __future__ import annotations

from typing import Any

from app.core.settings import Settings
from cnet.coding import ENCODERS
from cnet.data import DATASETS
from cnet.methods import METHODS
from cnet.models import ARCHITECTURES
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.transform import TRANSFORMS


def catalogue(settings: Settings) -> dict[str, Any]:
    """All parts, and the limits."""
    return {
        "transforms": TRANSFORMS.describe(),
        "methods": METHODS.describe(),
        "pruners": PRUNERS.describe(),
        "quantizers": QUANTIZERS.describe(),
        "encoders": ENCODERS.describe(),
        "architectures": ARCHITECTURES.describe(),
        "datasets": DATASETS.describe(),
        "limits": {
            "max_upload_bytes": settings.max_upload_bytes,
            "max_json_bytes": settings.max_json_bytes,
            "max_active_jobs": settings.max_active_jobs,
            "max_wait_seconds": 60,
            "max_page": 200,
            "time_limit_seconds": settings.time_limit_seconds,
            "retention_days": settings.retention_days,
        },
    }
