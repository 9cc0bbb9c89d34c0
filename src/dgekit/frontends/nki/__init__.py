"""NKI-style Python: kernels run eagerly on a session, every DMA call as transfers with the author's call beside them.

Reading order: `tensor` (what a kernel holds), `kernel_run` (the device under it), `copies`, `transposes`, `sums` (a
call as transfers), `script` (a file and its function). The public face is `dgekit.nki`.
"""

from __future__ import annotations

from dgekit.frontends.nki.script import run_script, split_source, trace

__all__ = ["run_script", "split_source", "trace"]
