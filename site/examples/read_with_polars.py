"""Which conditions have most accelerators been measured under, and how far apart are they? pip install polars."""

import sys
from io import BytesIO
from urllib.request import urlopen

import polars as pl

site = sys.argv[1] if len(sys.argv) > 1 else "https://example.org/"

# polars reads the address itself where the host answers requests for parts of a file.
with urlopen(f"{site}data/results.parquet") as answer:
    results = pl.read_parquet(BytesIO(answer.read()))
conditions = [
    "model",
    "weight_dtype",
    "engine",
    "accelerator_count",
    "input_tok",
    "output_tok",
    "concurrency",
]
found = (
    results.filter(
        pl.col("metric") == "tok_s_per_user",
        pl.col("speculation") == "none",
        pl.col("comparison_class").is_null(),
        pl.col("standing") == "stands",
        ~pl.col("status").is_in(["retracted", "superseded"]),
    )
    .drop_nulls(conditions)  # what a source does not say agrees with nothing
    .group_by(conditions)
    .agg(
        accelerators=pl.col("accelerator").drop_nulls().n_unique(),  # null would be one more
        slowest=pl.col("value").min(),
        fastest=pl.col("value").max(),
    )
    .sort("accelerators", *conditions, descending=[True] + [False] * len(conditions))
    .head(10)
)
print(found)
