"""Every NKI rule, by id: importing this module is what declares them all."""

from __future__ import annotations

from collections.abc import Mapping

from dgekit.advise import rules_address, rules_compute, rules_copy, rules_dynamic, rules_transpose
from dgekit.advise.rules import RULES, Rule
from dgekit.advise.rules_memory import PROGRAM_RULES, ProgramRule

MODULES = (rules_copy, rules_dynamic, rules_address, rules_transpose, rules_compute)
CALL_RULES: Mapping[str, Rule] = RULES
ALL_RULES: Mapping[str, Rule | ProgramRule] = {**CALL_RULES, **PROGRAM_RULES}
