"""A plan carried out: legs, cells, rounds; resumed where it was left."""

from kbtool.runner.session.interrupts import Interrupts, listening
from kbtool.runner.session.opening import open_session, resume_session
from kbtool.runner.session.run import Given, Session

__all__ = ["Given", "Interrupts", "Session", "listening", "open_session", "resume_session"]
