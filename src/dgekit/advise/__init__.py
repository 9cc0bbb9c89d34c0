"""What to expect of a transfer before it runs: rules, hazards, descriptors and ring memory, cost.

The package is also the function that does it all, `dgekit.advise(program)`: importing a module of the package puts the
package itself under that name, so it takes the call and hands it to `report.advise`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgekit.advise.report import Report


class _CallablePackage(ModuleType):
    def __call__(self, program: Any, **options: Any) -> Report:
        """`report.advise`."""
        from dgekit.advise.report import advise

        return advise(program, **options)


sys.modules[__name__].__class__ = _CallablePackage
