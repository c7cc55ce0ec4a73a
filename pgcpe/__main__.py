"""``python -m pgcpe``."""

import sys

from pgcpe.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
