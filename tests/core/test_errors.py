"""Issues and errors: their JSON, exit codes and default rules."""

import inspect

import pytest

from dgekit.core import errors
from dgekit.core.errors import DgeError, EngineError, InputError, Issue, has_errors

# design: 0 clean, 1 findings, 2 usage, 3 unreadable input, 4 unsupported or unspecified, 70 internal fault
CLASSES = {
    "DgeError": (1, "dge.error"),
    "UsageError": (2, "dge.usage"),
    "InputError": (3, "dge.input"),
    "EncodeError": (1, "layout.range"),
    "DecodeError": (3, "layout.size"),
    "IllegalWord": (1, "isa.illegal"),
    "LoweringError": (1, "lower.refused"),
    "RingError": (1, "rings.rule"),
    "EngineError": (1, "rings.engine"),
    "MemoryFault": (1, "memory.fault"),
    "Unmapped": (1, "memory.unmapped"),
    "CrossPartition": (1, "memory.cross_partition"),
    "Uninitialised": (1, "memory.uninitialised"),
    "Overlap": (1, "memory.overlap"),
    "Deadlock": (1, "run.deadlock"),
    "Unsupported": (4, "dge.unsupported"),
    "Unspecified": (4, "dge.unspecified"),
    "InternalError": (70, "dge.internal"),
}


def test_the_tree():
    found = {n: c for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, DgeError)}
    assert set(CLASSES) <= set(found)
    assert {name: (found[name].exit_code, found[name].default_rule) for name in CLASSES} == CLASSES
    assert len({cls.default_rule for cls in found.values()}) == len(found)


@pytest.mark.parametrize("name", CLASSES)
def test_an_error_without_a_rule_has_its_class_rule(name):
    raised = getattr(errors, name)("it broke", where="here", values={"n": 1}, source="rings 1", fix="mend it")
    assert raised.as_issue() == Issue(CLASSES[name][1], "error", "it broke", "here", {"n": 1}, "rings 1", "mend it")
    assert str(raised) == f"here: it broke [{CLASSES[name][1]}] Fix: mend it"
    assert str(getattr(errors, name)("it broke")) == f"it broke [{CLASSES[name][1]}]"


def test_an_engine_error_knows_its_cause():
    assert EngineError("stop").cause == -1
    assert EngineError("stop", cause=17, rule="rings.2.6").cause == 17


def test_issue_json_is_the_object_of_every_command():
    """Decision D51."""
    issue = Issue("isa.C7", "warning", "odd", "elem_size", {"found": 3, "limit": 2}, "isa-words 4.1", "halve it")
    assert issue.to_json() == {
        "rule": "isa.C7",
        "severity": "warning",
        "message": "odd",
        "where": "elem_size",
        "values": {"found": 3, "limit": 2},
        "source": "isa-words 4.1",
        "fix": "halve it",
    }
    assert str(issue) == "warning: elem_size: odd [isa.C7] Fix: halve it"
    assert str(Issue("isa.C7", "advice", "odd")) == "advice: odd [isa.C7]"
    assert issue.at("word 3").where == "word 3 . elem_size"
    assert Issue("isa.C7", "advice", "odd").at("word 3").where == "word 3"


def test_only_errors_count_as_errors():
    quiet = [Issue("a.b", severity, "m") for severity in ("warning", "advice", "unspecified")]
    assert not has_errors(quiet)
    assert has_errors([*quiet, InputError("x").as_issue()])
