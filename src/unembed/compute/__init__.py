"""How numbers are computed on the processor at hand: which precision, which kernels.

| file | what it decides |
|---|---|
| `precision` | fp32, bf16 or int8, by what the processor has |
| `kernels` | a matrix product in each precision: weights packed for oneDNN |
| `row_sizes` | how many rows a product has: few different numbers |
| `short_attention` | attention over a sentence's few tokens |
| `memory` | what is freed stays with the process |
| `packed_linear` | where products use them, and how long the packed copies live |
"""
