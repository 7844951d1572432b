"""The plan file, the cells that it stands for, and what can be said of them before anything is measured."""

from kbtool.runner.plan.model import Deadlines, Plan, Repeats, Replicates, Subject, Sweep
from kbtool.runner.plan.target import EngineKind, Target

__all__ = ["Deadlines", "EngineKind", "Plan", "Repeats", "Replicates", "Subject", "Sweep", "Target"]
