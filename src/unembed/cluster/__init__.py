"""Beyond one machine: the same inversions, encodings and audits, by actors of a Ray cluster.

A run is cut into jobs. A worker does a job with the same `Inverter` or `Encoder` that one machine uses,
writes its result whole or not at all, and answers with a small record. `run_jobs` hands the jobs out: to Ray
Data's actor pool, or one after the other to a worker in this process.
"""
