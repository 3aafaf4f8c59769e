"""How numbers are computed on the processor at hand: which precision, which kernels.

| file | what it decides |
|---|---|
| `precision` | fp32, bf16 or int8, by what the processor has |
| `kernels` | a matrix product in each precision: weights packed for oneDNN |
| `short_attention` | attention over a sentence's few tokens |
| `packed_linear` | where products use them, and how long the packed copies live |
"""
