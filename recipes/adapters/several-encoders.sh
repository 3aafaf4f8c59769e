#!/usr/bin/env bash
# One table of models for several encoders, as the paper's table 1: the same texts, embedded with each model's own
# encoder, inverted by its model. Every step resumes: run it again after a stop.
#
#   TEXTS=held-out STATE=state recipes/adapters/several-encoders.sh
#
# TEXTS has a file for each kind of text (KIND.txt, one text a line; measured_texts.py draws them). The encoders are
# fetched before: unembed encoders fetch use-multilingual gte-small e5-small mpnet
set -euo pipefail
: "${TEXTS:?folder of the texts}" "${STATE:?folder for data and rows}"
here=$(cd "$(dirname "$0")" && pwd)
ten=$(cd "$here/../../models/use-ten" && pwd)
unembed=${UNEMBED:-unembed}
samples=${SAMPLES:-1000}
output=${OUTPUT:-$STATE/several-encoders}

# MODEL=ENCODER: a model's folder, or the name by which one ships.
models=${MODELS:-"minilm=minilm $ten=use-multilingual gte-small=gte-small e5-small=e5-small mpnet=mpnet"}

sources=()
for file in "$TEXTS"/*.txt; do
  kind=$(basename "$file" .txt)
  case " ${KINDS:-$kind} " in *" $kind "*) sources+=(--source "en-$kind=$file") ;; esac
done
compared=""
for one in $models; do
  model=${one%=*} encoder=${one##*=}
  # Room for what another tokenizer cuts into more pieces: otherwise each model would get other texts.
  "$unembed" prepare "${sources[@]}" --encoder "$encoder" --seq-len 32 --validation-share 0 --test-share 1 \
    -o "$STATE/several-encoders-data/$encoder"
  compared+="${compared:+,}$model=$STATE/several-encoders-data/$encoder"
done
"$unembed" evaluate --models "$compared" --samples "$samples" --no-floors \
  --metrics token_accuracy,token_f1,exact_match,bleu,cosine -o "$output"
