"""The documentation names every fault that is injected, and no other."""

import fault_table


def test_the_page_has_the_faults_of_today():
    text = fault_table.PAGE.read_text(encoding="utf-8")
    assert text == fault_table.page(text), "python tests/unit/fault_table.py writes it anew"


def test_each_promise_has_faults():
    assert {promise for promise, *_ in fault_table.faults()} == set(fault_table.PROMISES)
