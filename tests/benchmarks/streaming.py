"""Index a stream of text in this process and say how much memory it took at most.

    python -m tests.benchmarks.streaming 100

The argument is in megabytes. Prints JSON: the peak in MB before the first document
and at 10, 50 and 100 %, and the documents of 1,000 characters per CPU second.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_ctxfetch import SQLiteStore
from tests.benchmarks.natural import Writer, text_folder
from tests.benchmarks.timing import progress

MARKS = (10, 50, 100)


def index_stream(megabytes: int) -> dict[str, float]:
    """Write so much text into a store on disk; return peaks and speed."""
    writer = Writer(text_folder())
    documents, written, spent = 1_000 * megabytes, 0, 0.0
    figures = {"0 %": _peak_mb()}
    with TemporaryDirectory() as folder, SQLiteStore(Path(folder, "store.db")) as store:
        for batch in writer.batches(documents):
            start = time.process_time()
            store.add_documents(batch)
            spent += time.process_time() - start
            written += len(batch)
            for mark in MARKS:
                if 100 * (written - len(batch)) < mark * documents <= 100 * written:
                    figures[f"{mark} %"] = peak = _peak_mb()
                    progress(f"{mark} % of {megabytes} MB: {peak:.0f} MB of memory")
    return figures | {"documents a second": documents / spent}


def _peak_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux `ru_maxrss` begins with what the process had that started this one.
        (peak,) = re.findall(r"VmHWM:\s*(\d+) kB", status.read_text("ascii"))
        return int(peak) / 1e3
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    print(json.dumps(index_stream(int(sys.argv[1]))))
