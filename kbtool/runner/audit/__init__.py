"""Audit: is what a server does under measurement what it does in earnest?

After the compliance tests of MLPerf (TEST04 repeated samples, TEST06 and TEST09 lengths, TEST01 and TEST07 same answers
while measured), over any server that the runner measures::

    model      AuditSpec, AuditReport, AuditCheck          opening   a server to audit, from an address or a plan
    run        `audit`: what is sent, in which order       asking    questions as requests
    evidence   what the verdicts look at                   texts schema   what they know of text
    repeated length identity sense                         one verdict each: pure functions over answers

The burden of proof is the server's: what cannot be judged has not passed, and the remedy says what would show it.
"""

from kbtool.runner.audit.model import ALL_AUDITS, Audit, AuditCheck, AuditReport, AuditSpec
from kbtool.runner.audit.opening import Opened, opened
from kbtool.runner.audit.run import audit, judge

__all__ = [
    "ALL_AUDITS",
    "Audit",
    "AuditCheck",
    "AuditReport",
    "AuditSpec",
    "Opened",
    "audit",
    "judge",
    "opened",
]
