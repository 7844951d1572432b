"""What words mean: metrics, units, terms and disclosure fields."""

from kbtool.vocab.metrics import METRICS, Metric, metric

__all__ = ["METRICS", "Metric", "metric"]
