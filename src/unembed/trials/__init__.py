"""Defences on trial: what each leaves to attackers who know of it, and what it costs in retrieval.

A defence is as strong as its best attacker. `run_trials` measures and resumes, `trial_attackers` attack,
`utility` is the cost, `frontier` says which settings are worth having, `trials_report` puts it into tables.
"""
