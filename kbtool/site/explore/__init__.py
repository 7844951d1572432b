"""The explorer: a page over all results, the files that it reads, and plain tables for readers without scripts."""

from kbtool.site.explore.products import ExplorePages

__all__ = ["ExplorePages"]
