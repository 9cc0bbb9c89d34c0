"""Write the reference pages: `python -m dgekit.export.reference [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

from dgekit.export.reference import write_pages

write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
