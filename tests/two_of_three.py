"""A plugin: what a single training does not decide is asked again.

Others may take the machine from a test that judges times. One that is marked `timing` and was wrong
the first time, its fixtures included, must be right two more times, with all of them made anew. The
last lines of a run name each test that was wrong the first time, and how.
"""

import re

import pytest
from _pytest.runner import runtestprotocol

WRONG = "wrong the first time"
LINE = re.compile(rf"^{WRONG}: (\S+::.+?) - ", re.M)
"""One of the last lines of a run; its group is the test."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Up to three runs of a test that judges times, reported as one."""
    if item.get_closest_marker("timing") is None:
        return None
    where = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**where)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if wrong := how_wrong(reports):
        item.user_properties.append((WRONG, wrong))
        # What several tests share may be what was wrong.
        item.session._setupstate.teardown_exact(None)
        reports = runtestprotocol(item, log=False, nextitem=None)
        if not how_wrong(reports):
            reports = runtestprotocol(item, log=False, nextitem=None)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**where)
    return True


def how_wrong(reports):
    """The first line that says it; empty if nothing was wrong."""
    said = [report.longreprtext for report in reports if report.failed]
    told = [line[1:].strip() for line in "\n".join(said).splitlines() if line.startswith("E ")]
    return told[0] if told else " ".join(said)[-200:]


def pytest_terminal_summary(terminalreporter):
    """A line for each test, also of those that were right in the end."""
    reports = [each for found in terminalreporter.stats.values() for each in found]
    ended = [each for each in reports if getattr(each, "when", "") == "teardown"]
    for report in ended:
        for name, how in report.user_properties:
            if name == WRONG:
                terminalreporter.write_line(f"{WRONG}: {report.nodeid} - {how}")
