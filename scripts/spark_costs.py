"""What a job on Spark cost, from its event log: time, bytes shuffled, and memory at its peak.

Run the job with
    --conf spark.eventLog.enabled=true --conf spark.eventLog.dir=file:///tmp/events
    --conf spark.eventLog.compress=false --conf spark.eventLog.rolling.enabled=false
    --conf spark.eventLog.logStageExecutorMetrics=true
    --conf spark.executor.processTreeMetrics.enabled=true
then `python scripts/spark_costs.py /tmp/events/FILE`.
"""

import json
import sys
from collections import Counter
from pathlib import Path

PEAKS = ("ProcessTreeJVMRSSMemory", "ProcessTreePythonRSSMemory")


def costs(log: Path) -> dict[str, float]:
    """Sums over all tasks, and the highest of what was sampled on any executor."""
    sums: Counter[str] = Counter()
    peaks = dict.fromkeys((*PEAKS, "ratings_per_user"), 0)
    times = []
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            times.append(event.get("Timestamp"))
            if event["Event"] == "SparkListenerTaskEnd":
                _add_task(sums, event["Task Metrics"])
                _raise_peaks(peaks, event.get("Task Executor Metrics") or {})
            elif event["Event"] == "SparkListenerStageExecutorMetrics":
                _raise_peaks(peaks, event["Executor Metrics"])
    known = [moment for moment in times if moment]
    return {
        "seconds": (max(known) - min(known)) / 1000,
        "tasks": sums["tasks"],
        "task_seconds": sums["run"] / 1000,
        "shuffle_bytes": sums["written"],
        "shuffle_records": sums["records"],
        "spilled_bytes": sums["spilled"],
        "largest_task_shuffle_bytes": sums["largest"],
        **{f"peak_{name}": value for name, value in peaks.items()},
    }


def _add_task(sums: Counter[str], metrics: dict[str, dict[str, int]]) -> None:
    written, read = metrics["Shuffle Write Metrics"], metrics["Shuffle Read Metrics"]
    sums["tasks"] += 1
    sums["run"] += int(str(metrics["Executor Run Time"]))
    sums["written"] += written["Shuffle Bytes Written"]
    sums["records"] += written["Shuffle Records Written"]
    sums["spilled"] += int(str(metrics["Disk Bytes Spilled"]))
    got = read["Remote Bytes Read"] + read["Local Bytes Read"]
    sums["largest"] = max(sums["largest"], got)


def _raise_peaks(peaks: dict[str, int], sampled: dict[str, int]) -> None:
    values = {name: sampled.get(name, 0) for name in PEAKS}
    values["ratings_per_user"] = sum(values.values())
    for name, value in values.items():
        peaks[name] = max(peaks[name], value)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(costs(Path(sys.argv[1])), indent=2) + "\n")
