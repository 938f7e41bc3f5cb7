"""Launch a kernel of the system from a host over a serial port: ``host.py --help`` says more."""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(importlib.import_module("soc.host_command").main())
