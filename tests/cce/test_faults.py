"""The runtime's texts and places, against the published tables."""

import pytest
from cce_spec import SPEC

from dgekit.cce.faults import REFUSALS, as_error, finding, raise_first, refusal_error
from dgekit.core.errors import ComputeError, Issue

NUMBERS = {"bad_op": (7,), "too_many_tx": (70, 65), "gce_header": ("de", 0x21), "minmax_dtype": ("INT8",)}


@pytest.mark.parametrize("key", SPEC["messages"])
def test_each_published_text_is_here(key):
    assert REFUSALS[key].text == SPEC["messages"][key]


def test_each_assertion_has_its_published_place():
    here = {refusal.site for refusal in REFUSALS.values()}
    assert set(SPEC["assert_sites"]) <= here
    assert here - set(SPEC["assert_sites"]) <= {"", "encd.c"}


@pytest.mark.parametrize(("key", "numbers"), NUMBERS.items())
def test_a_finding_carries_text_place_and_result(key, numbers):
    issue = finding(key, *numbers, rule="cce.2.3", message="why", where="here", fix="do", more=1)
    text = REFUSALS[key].text.replace("%lx", "%x") % numbers
    assert issue.values["text"] == text
    assert issue.message == f"why ({text})"
    assert issue.values.get("site", "") == REFUSALS[key].site
    assert issue.values.get("result") == REFUSALS[key].result
    assert (issue.values["more"], issue.where, issue.fix, issue.severity) == (1, "here", "do", "error")
    assert as_error(issue).as_issue() == issue


def test_return_codes():
    codes = {key: refusal.result for key, refusal in REFUSALS.items() if refusal.result is not None}
    assert codes == {"vring_op": -1, "replication_arch": -1, "too_many_tx": -22, "notif_arch": -22, "sow_arch": -1}


def test_the_first_error_is_raised_and_warnings_are_not():
    warning, error = Issue("a.b", "warning", "w"), finding("concat", rule="cce.5.4")
    raise_first([warning])
    with pytest.raises(ComputeError) as caught:
        raise_first([warning, error, Issue("a.c", "error", "later")])
    assert caught.value.message == SPEC["messages"]["concat"]
    assert refusal_error("concat", rule="cce.5.4").as_issue() == error
