"""The equations and nothing else: noise schedules, corruption, the training bound.

Symbols follow the paper: `x0` the clean tokens, `xt` the corrupted ones, `t` in [0, 1] the time,
`alpha(t)` the probability that a token survives until `t`.
"""
