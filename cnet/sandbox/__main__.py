"""``python -m cnet.sandbox``."""

from __future__ import annotations

import sys

from cnet.sandbox import main

if __name__ == "__main__":
    sys.exit(main())
