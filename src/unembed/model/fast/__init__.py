"""What makes the model fast. `denoiser.py` and `blocks.py` can be read without any of it.

Kernels and precisions are in `compute/`.

| file | exact? | what it saves |
|---|---|---|
| `few_positions` | exact | the last block's queries and feed-forward at positions that are not read |
| `tied_gradient` | exact | a second gradient as large as the token matrix, in training |
| `candidate_softmax` | another training loss | most of the output layer, in training |
| `kv_cache` | approximate, on request | computing revealed tokens again in every pass |
| `word_shortlist` | approximate, on request | most of the output layer, after a text's first pass |
"""
