"""Which conditions have most accelerators been measured under, and how far apart are they? pip install duckdb."""

import sys
from urllib.request import urlretrieve

import duckdb

site = sys.argv[1] if len(sys.argv) > 1 else "https://example.org/"

# DuckDB's extension httpfs reads the address itself; a copy needs no extension.
urlretrieve(f"{site}data/results.parquet", "results.parquet")
found = duckdb.sql("""
    SELECT model, weight_dtype, engine, accelerator_count, input_tok, output_tok, concurrency,
        count(DISTINCT accelerator) AS accelerators, min(value) AS slowest, max(value) AS fastest
    FROM 'results.parquet'
    WHERE metric = 'tok_s_per_user' AND speculation = 'none' AND comparison_class IS NULL
        AND standing = 'stands' AND status NOT IN ('retracted', 'superseded')
        -- What a source does not say agrees with nothing.
        AND model IS NOT NULL AND weight_dtype IS NOT NULL AND engine IS NOT NULL
        AND accelerator_count IS NOT NULL AND input_tok IS NOT NULL AND output_tok IS NOT NULL AND concurrency IS NOT NULL
    GROUP BY ALL
    ORDER BY accelerators DESC, model, weight_dtype, engine, accelerator_count, input_tok, output_tok, concurrency
    LIMIT 10
""")
print(found)
