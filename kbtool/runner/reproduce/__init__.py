"""A benchmark record turned into a plan that measures it again, with what the record leaves open.

loads       metric and conditions -> load      workloads   loads -> parts of a plan
arguments   settings -> arguments, by engine   target      what is launched or attached
sweeps      other settings of results          make        all of it together
text        a plan's file as plain data
"""

from kbtool.runner.reproduce.loads import same_statistics
from kbtool.runner.reproduce.make import plan_from, target_value
from kbtool.runner.reproduce.model import Covered, OpenPoint, Reproduction, Required
from kbtool.runner.reproduce.text import PlanPart, PlanText, plan_yaml_lines

__all__ = [
    "Covered",
    "OpenPoint",
    "PlanPart",
    "PlanText",
    "Reproduction",
    "Required",
    "plan_from",
    "plan_yaml_lines",
    "same_statistics",
    "target_value",
]
