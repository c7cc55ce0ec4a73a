"""Set before numpy is imported: two workers that each start a thread a core for small matrices only wait."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
