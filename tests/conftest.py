"""The same matrix products on every x86-64 machine: what a test is made of (random orthogonal factors, say) then has
the same bits everywhere. To be said before NumPy is loaded; only where the processor has what it asks for."""

import os
from pathlib import Path

PROCESSOR = Path("/proc/cpuinfo")
if PROCESSOR.exists() and {"avx2", "fma"} <= set(PROCESSOR.read_text().split()):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
