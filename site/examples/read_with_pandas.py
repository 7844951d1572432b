"""Which conditions have most accelerators been measured under, and how far apart are they? pip install pandas pyarrow."""

import sys

import pandas as pd

site = sys.argv[1] if len(sys.argv) > 1 else "https://example.org/"

results = pd.read_parquet(f"{site}data/results.parquet")
open_results = results[
    (results.metric == "tok_s_per_user")
    & (results.speculation == "none")
    & results.comparison_class.isna()
    & (results.standing == "stands")
    & ~results.status.isin(["retracted", "superseded"])
]
# Rows in which a condition is null are left out: what a source does not say agrees with nothing.
conditions = ["model", "weight_dtype", "engine", "accelerator_count", "input_tok", "output_tok"]
found = open_results.groupby(conditions).agg(
    accelerators=("accelerator", "nunique"), slowest=("value", "min"), fastest=("value", "max")
)
print(found.sort_values("accelerators", ascending=False).head(10))
