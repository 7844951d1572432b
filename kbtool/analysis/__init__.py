"""Pure functions over records: what is disclosed, how far to trust it, and whether its figures agree.

Each function gives its formula and its source in its docstring.  Nothing here reads a file or a clock.
"""
