"""Run the tasks of a file as one kernel on SimtCores: ``run_merged.py --help`` has examples."""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(importlib.import_module("simt_host.merged_command").main())
