"""Ends a job with all that it started, and tells what was ended how."""
from shelld import connect

with connect() as shelld, shelld.start('setsid sleep 1000 & trap "" TERM; echo ready; sleep 1000; wait') as job:
    job.wait(pattern="ready")
    report = job.kill(grace=0.3)
    print([process["how"] for process in report["killed"]], "left:", len(report["survivors"]))
