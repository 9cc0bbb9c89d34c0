"""Every NKI rule, by id: importing this module is what declares them all."""

from __future__ import annotations

from collections.abc import Mapping

from dgekit.advise import rules_address, rules_compute, rules_copy, rules_dynamic, rules_transpose
from dgekit.advise.engine_patterns import ENGINE_RULES, EngineRule
from dgekit.advise.rules import RULES, Rule
from dgekit.advise.rules_memory import PROGRAM_RULES, ProgramRule

MODULES = (rules_copy, rules_dynamic, rules_address, rules_transpose, rules_compute)
CALL_RULES: Mapping[str, Rule] = {  # in the order of the chapter, whichever module was imported first
    rule_id: rule for module in MODULES for rule_id, rule in RULES.items() if rule.find.__module__ == module.__name__
}
ALL_RULES: Mapping[str, Rule | ProgramRule | EngineRule] = {**CALL_RULES, **PROGRAM_RULES, **ENGINE_RULES}
