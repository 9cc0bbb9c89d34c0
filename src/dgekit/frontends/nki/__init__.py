"""NKI-style Python: kernels run eagerly on a session, every DMA call as transfers with the author's call beside them.

Reading order: `tensor` (what a kernel holds), `kernel_run` (the device under it), `copies`, `transposes`, `sums` (a
call as transfers), `script` (a file and its function). The public face is `dgekit.nki`. The names here are loaded
when first used: the versions of the API are wanted where numpy is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgekit.frontends.nki.script import run_script, split_source, trace

__all__ = ["run_script", "split_source", "trace"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import dgekit.frontends.nki.script as script

    return getattr(script, name)
