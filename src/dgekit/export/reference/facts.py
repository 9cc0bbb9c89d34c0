"""Pages of declared facts: enums, rules, generations, choices."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from dgekit.core import errors
from dgekit.core.choices import CHOICES, Choice, Value
from dgekit.core.dtypes import DTYPES, DtypeInfo
from dgekit.core.errors import DgeError
from dgekit.core.generations import GENERATIONS
from dgekit.export.reference.markdown import anchor, bullets, cell, code, link, page, sentences, table
from dgekit.transfers.transfer import MODES
from dgekit.words.checks import RULES
from dgekit.words.describe import describe, names_by_kind
from dgekit.words.describe_facts import describe_dtype
from dgekit.words.resolve import LOWERING_RULES
from dgekit.words.rules import Rule, severity_of
from dgekit.words.word import word_classes

LONG = 40

ENUMS_INTRO = (
    "The enums of the words and the element types. A value that an enum does not hold decodes to a plain number and "
    "encodes back to the same byte."
)
RULES_INTRO = (
    "Every rule that `dge check` and `dgekit.check` know about a word, and what the errors of the package mean. An "
    "id starts with the chapter that states it: `isa` words, `pipeline` firmware, `rings` descriptors and rings, "
    "`dec` decisions. An error is a broken predicate of a header or a shipped structure, a warning an inferred one, "
    "advice a habit of the compiler; `unspecified` names a predicate whose body no source gives: it is neither "
    "passed nor failed."
)
GENERATIONS_INTRO = "Every fact that differs between generations, one column each; sizes are in bytes."
CHOICES_INTRO = (
    "Every modelling switch: a question that no source settles has a name, a default and a reason here. Set one with "
    "`--set NAME=VALUE` on any command, under `[choices]` in a transfer file, or with `choices={...}` in Python; a "
    "result lists the switches it depended on."
)
CHOICES_GUIDE = (
    "Where no source says what the device does, the model asks a named switch; each has a default and a reason, and "
    "every result lists the switches it depended on (`choices` of `dge run --json`, the line `choices it depended "
    "on` of the walk). `dge choices NAME` explains one, `--set NAME=VALUE` sets one on any command, `[choices]` in a "
    "transfer file sets it for a program, `choices={...}` from Python. The [reference](reference/choices.md) has "
    "values, reasons and sources; what has no sensible default at all is in [not-modelled.md](not-modelled.md)."
)


def enums_page() -> str:
    """The enums, then the element types."""
    parts = []
    for name in names_by_kind()["enum"]:
        found = describe(name)
        parts += [f"## {found.name}", *sentences(found.text)]
        rows = ((row[0], code(row[1]), cell(row[2]), row[3]) for row in found.tables[0].rows)
        parts.append(table(("value", "name", "generations", "evidence"), rows))
    parts += [
        "## Element types",
        "Names follow ml_dtypes; codes are those of DTYPE, NEFF codes those of a NEFF's JSON.",
    ]
    parts.append(table(("name", "code", "bits", "NEFF", "numpy", "generations"), map(_dtype_row, DTYPES)))
    return page("Enums", ENUMS_INTRO, parts)


def _dtype_row(info: DtypeInfo) -> tuple[str, ...]:
    there = describe_dtype(info).text[1].removeprefix("generations: ")
    neff = "" if info.neff_code is None else f"{info.neff_code} {code(info.neff_name)}"
    return code(info.name), f"{int(info.code):#04x}", str(info.bits), neff, code(info.storage), cell(there)


def rules_page() -> str:
    """The rules of words, those of resolution, and the classes of errors."""
    overview = [(link(rule.id, "#" + anchor(rule.id)), rule.severity, cell(rule.statement)) for rule in RULES.values()]
    overview += [
        (link(rule_id, "#" + anchor(rule_id)), severity_of(evidence), cell(statement))
        for rule_id, (statement, evidence) in LOWERING_RULES.items()
    ]
    parts = [table(("rule", "severity", "statement"), overview), "## Rules of words"]
    for rule in RULES.values():
        parts += _rule_parts(rule)
    parts.append("## Rules of resolution")
    for rule_id, (statement, evidence) in LOWERING_RULES.items():
        parts += [
            f"### {rule_id}",
            cell(statement),
            bullets([f"severity: {severity_of(evidence)}", f"evidence: {evidence.tag} ({evidence.source})"]),
        ]
    parts += ["## Errors", _errors_text()]
    parts.append(table(("error", "rule when none is nearer", "exit code", "meaning"), _error_rows()))
    return page("Rules", RULES_INTRO, parts)


def _rule_parts(rule: Rule) -> Iterator[str]:
    there = describe(rule.id).text[-1]
    words = ", ".join(link(kind, f"words.md#{anchor(kind)}") for kind in rule.words) or "every word"
    proof = f"evidence: {rule.evidence.tag} ({rule.evidence.source})"
    yield f"### {rule.id}"
    yield cell(rule.statement)
    yield bullets([f"severity: {rule.severity}", f"words: {words}", cell(there), proof])


def _errors_text() -> str:
    return (
        "What stops a command is one of these, all of them a `DgeError` with message, rule, place, values and fix. "
        "Exit codes: 0 clean, 1 findings or a failed transfer, 2 usage, 3 unreadable input, 4 unsupported or "
        "unspecified, 70 a fault of the tool itself."
    )


def _error_rows() -> Iterator[tuple[str, ...]]:
    for cls in vars(errors).values():
        if isinstance(cls, type) and issubclass(cls, DgeError):
            meaning = cell(inspect.cleandoc(cls.__doc__ or ""))
            yield code(cls.__name__), code(cls.default_rule), str(cls.exit_code), meaning


def generations_page() -> str:
    """All generations side by side: words, modes, facts, address map."""
    found = [describe(generation.name) for generation in GENERATIONS]
    columns = ("", *(code(each.name) for each in found))
    words = (
        (
            link(cls.kind, f"words.md#{anchor(cls.kind)}"),
            *("" if cls.code in each.opcodes_absent else "yes" for each in GENERATIONS),
        )
        for cls in word_classes()
    )
    modes = ((code(mode), *("yes" if mode in each.modes else "" for each in GENERATIONS)) for mode in MODES)
    parts = [
        "## Words",
        table(columns, words),
        "## Modes",
        table(columns, modes),
        "## Facts",
        table(columns, _side_by_side([list(each.tables[0].rows) for each in found])),
        "## Address map",
        table(columns, _side_by_side([list(each.tables[1].rows) for each in found])),
    ]
    return page("Generations", GENERATIONS_INTRO, parts)


def _side_by_side(columns: list[list[tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
    """Facts of all generations in rows; a long value is written once, then named."""
    for rows in zip(*columns, strict=True):
        values = [row[1] for row in rows]
        firsts = [values.index(value) for value in values]
        yield (
            code(rows[0][0]),
            *(
                f"as {GENERATIONS[first].name}" if first < here and len(value) > LONG else cell(value)
                for here, (first, value) in enumerate(zip(firsts, values, strict=True))
            ),
        )


def choices_page() -> str:
    """Every switch in full."""
    parts = []
    for choice in CHOICES.values():
        parts += [f"## {choice.name}", f"Decides: {cell(choice.question)}."]
        facts = [f"values: {_values(choice)}", f"why: {cell(choice.why)}", f"source: {cell(choice.source)}"]
        parts.append(bullets(facts))
    return page("Choices", CHOICES_INTRO, parts)


def _values(choice: Choice) -> str:
    if choice.is_number:
        return f"a whole number from {choice.minimum} up; default {code(value_text(choice.default))}"
    first, *others = (code(value_text(value)) for value in choice.values)
    return f"{first} (default), " + ", ".join(others)


def value_text(value: Value) -> str:
    """A value as a user writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def choices_guide() -> str:
    """The short page: how to use switches, and one line for each."""
    rows = (
        (
            link(choice.name, f"reference/choices.md#{choice.name}"),
            code(value_text(choice.default)),
            cell(choice.question),
        )
        for choice in CHOICES.values()
    )
    return page("Choices", CHOICES_GUIDE, [table(("switch", "default", "what it decides"), rows)])
