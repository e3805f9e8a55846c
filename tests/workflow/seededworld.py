"""The micro world's similarity audit with two seeds, requested on top of a finished run."""

import json

WEB = "large-deduplicated"
BASES = {"similarity_table1": f"{WEB}-and-small", "similarity_table4": WEB}
TABLES = " ".join(f"results_micro/tables/{name}.json" for name in [*BASES, "similarity_table3"])
CORE = f"{WEB}.all-far-core"  # a row of Table 3
GRID = [name for base in BASES.values() for name in (base, f"{base}.sketch-pruned")] + [CORE]
SEEDS = {"seeds": 2, "with_small": [True, False], "grid": GRID}
SETTINGS = ("--config", f"similarity={json.dumps(SEEDS)}")
