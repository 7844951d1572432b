"""Measure every figure of `benchmarks/README.md`, one table after the other.

Usage: python -m benchmarks
"""

from benchmarks import (
    accuracy,
    browser_bench,
    explore_bench,
    lint_bench,
    runner_bench,
    runner_size,
    runner_statistics,
    site_bench,
)

PROGRAMS = (
    accuracy,
    lint_bench,
    site_bench,
    browser_bench,
    explore_bench,
    runner_bench,
    runner_statistics,
    runner_size,
)

if __name__ == "__main__":
    for program in PROGRAMS:
        print(f"\n{program.__name__}: {(program.__doc__ or '').partition('.')[0]}\n")
        program.main()
