"""The doctor: what is there before anything is measured, and what a record of it would lack.

`examine` asks each server for four small answers at most and reads everything else; nothing is changed anywhere.
"""

from kbtool.runner.doctor.diagnosis import (
    Access,
    Diagnosis,
    FieldPlan,
    ForeignTraffic,
    Holder,
    Probe,
    Probes,
    Remark,
    ServerReport,
    Severity,
    Shown,
)
from kbtool.runner.doctor.examine import Surroundings, examine
from kbtool.runner.doctor.server import Question

__all__ = [
    "Access",
    "Diagnosis",
    "FieldPlan",
    "ForeignTraffic",
    "Holder",
    "Probe",
    "Probes",
    "Question",
    "Remark",
    "ServerReport",
    "Severity",
    "Shown",
    "Surroundings",
    "examine",
]
