"""Measure every figure of `benchmarks/README.md`, one table after the other.

Usage: python -m benchmarks
"""

from benchmarks import accuracy, browser_bench, lint_bench, site_bench

PROGRAMS = (accuracy, lint_bench, site_bench, browser_bench)

if __name__ == "__main__":
    for program in PROGRAMS:
        print(f"\n{program.__name__}: {(program.__doc__ or '').partition('.')[0]}\n")
        program.main()
