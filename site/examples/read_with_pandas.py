"""Which conditions have most accelerators been measured under, and how far apart are they? pip install pandas pyarrow."""

import sys

import pandas as pd

site = sys.argv[1] if len(sys.argv) > 1 else "https://example.org/"

# Types that know null: integers stay integers.
results = pd.read_parquet(f"{site}data/results.parquet", dtype_backend="numpy_nullable")
open_results = results[
    (results.metric == "tok_s_per_user")
    & (results.speculation == "none")
    & results.comparison_class.isna()
    & (results.standing == "stands")
    & ~results.status.isin(["retracted", "superseded"])
]
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
    open_results.groupby(conditions)  # leaves out nulls: what a source does not say agrees with nothing
    .agg(accelerators=("accelerator", "nunique"), slowest=("value", "min"), fastest=("value", "max"))
    .reset_index()
    .sort_values(["accelerators", *conditions], ascending=[False] + [True] * len(conditions))
    .head(10)
)
print(found)
