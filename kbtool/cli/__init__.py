"""The command line: parse arguments, call one function of a lower layer, print, return an exit code."""

from kbtool.cli.app import app, main

__all__ = ["app", "main"]
