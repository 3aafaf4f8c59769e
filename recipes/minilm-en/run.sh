#!/usr/bin/env bash
# The bundled English model, from texts to a folder that ships. Every step resumes: run it again after a stop.
#
#   TEXTS=corpora STATE=state START=path/to/a/model recipes/minilm-en/run.sh
#
# TEXTS holds one sentence a line: en_short.txt.gz (Tatoeba), en_wiki_news.txt.gz (Wikipedia, Wikinews),
# en_messages.txt.gz and en_everyday/KIND.txt.gz (about.md names sources and licences). STATE takes the data and the
# runs: some gigabytes. START is a model and its surrogate to go on from, by default a new one; ALREADY_BROAD=1 says that
# it has learnt on all of these kinds, SEED draws other texts than it has seen.
set -euo pipefail
: "${TEXTS:?folder of the texts}" "${STATE:?folder for data and runs}"
here=$(cd "$(dirname "$0")" && pwd)
unembed=${UNEMBED:-unembed}
python=${PYTHON:-python3}

# Kinds are sampled evenly, not by their bulk. Texts of more than 32 tokens are left out, not cut: people embed whole
# ones. Training vectors are made in bf16 where the processor has it.
kinds=(requests questions chat social titles reviews forums spoken captions health prose)
seed=${SEED:-7} # which texts are drawn: another one than a model to go on from has seen
prepare() { # KIND FILE TEXTS
  "$unembed" prepare --source "en-$1=$2" --limit "$3" --pick random --seed "$seed" --min-tokens 3 --max-tokens 32 --seq-len 32 \
    --precision bf16 -o "$STATE/data/$1"
}
for kind in "${kinds[@]}"; do prepare "$kind" "$TEXTS/en_everyday/$kind.txt.gz" 100000; done
prepare messages "$TEXTS/en_messages.txt.gz" 110000
prepare short "$TEXTS/en_short.txt.gz" 150000
prepare wiki "$TEXTS/en_wiki_news.txt.gz" 150000
# Names, addresses, numbers and codes, made by rule.
if [ ! -f "$STATE/made.txt" ]; then
  "$python" "$here/made_texts.py" --lines 110000 "$TEXTS/en_short.txt.gz" "$TEXTS/en_messages.txt.gz" \
    "$TEXTS"/en_everyday/*.txt.gz > "$STATE/made.txt.partial"
  mv "$STATE/made.txt.partial" "$STATE/made.txt"
fi
prepare made "$STATE/made.txt" 100000
data=()
for kind in "${kinds[@]}" messages short wiki made; do data+=(--data "$STATE/data/$kind"); done

# A model to start from, and its surrogate: short texts first.
if [ -z "${START:-}" ]; then
  START=$STATE/base
  "$unembed" train --config "$here/base.yaml" --data "$STATE/data/short" --steps "${BASE_STEPS:-20000}" -o "$STATE/runs/base"
  "$unembed" encoders fetch potion
  [ -d "$START" ] || "$unembed" model export "$STATE/runs/base/best" -o "$START"
  "$unembed" surrogate --data "$STATE/data/short" --start potion --layers 3 --steps 4800 --warmup 200 --hold 0.3 \
    --learning-rate 0.0015 --model "$START" -o "$STATE/runs/base-surrogate"
fi

# Words first, then the blocks; those that have learnt on all kinds already go on at a lower rate.
broad=()
[ -n "${ALREADY_BROAD:-}" ] && broad=(--learning-rate 2.5e-4 --warmup 100)
"$unembed" train --config "$here/heads.yaml" --start-from "$START" "${data[@]}" --minutes "${HEADS_MINUTES:-6}" -o "$STATE/runs/heads"
"$unembed" train --config "$here/broad.yaml" --start-from "$STATE/runs/heads/latest" "${broad[@]}" "${data[@]}" \
  --minutes "${BROAD_MINUTES:-74}" -o "$STATE/runs/broad"
# Free-running, it repeats words that it said itself: what that costs was found on validation texts.
model=$STATE/minilm-en
[ -d "$model" ] || "$unembed" model export "$STATE/runs/broad/latest" --dtype int8 --repeat-penalty 1.0 -o "$model"

# The surrogate that comes with it.
"$unembed" surrogate "${data[@]}" --start "$START/surrogate" --layers 5 --source-alpha 0.5 --steps "${SURROGATE_STEPS:-3600}" \
  --warmup 100 --hold 0.4 --learning-rate 0.0012 --model "$model" -o "$STATE/runs/surrogate"

# What follows what: counted in all texts but the held-out ones.
sources=(--source "en=$TEXTS/en_short.txt.gz" --source "en=$TEXTS/en_wiki_news.txt.gz" --source "en=$TEXTS/en_messages.txt.gz")
for kind in "${kinds[@]}"; do sources+=(--source "en=$TEXTS/en_everyday/$kind.txt.gz"); done
"$unembed" phrases --model "$model" "${sources[@]}"
# And how words are written, for encoders that tell capitals apart.
"$unembed" casing --model "$model" "${sources[@]}"

# What it recovers, and its card. HELD_OUT has a file for each kind that was not trained on: held_out.py makes them.
measure() { "$unembed" evaluate --model "$model" "${@:2}" -o "$STATE/evaluations/$1"; }
evaluations=()
if [ -n "${HELD_OUT:-}" ]; then
  held_out=()
  for file in "$HELD_OUT"/*.txt; do held_out+=(--source "en-$(basename "$file" .txt)=$file" --quota "en-$(basename "$file" .txt)=700"); done
  "$unembed" prepare "${held_out[@]}" --min-tokens 4 --max-tokens 32 --seq-len 32 --validation-share 0 --test-share 1 -o "$STATE/data/held-out"
  measure held-out --data "$STATE/data/held-out" --min-tokens 4 --max-tokens 16 --samples 10000 --no-floors --words 20,50
  evaluations+=(--evaluation "Kinds of text that were not trained on, 4 to 16 tokens=$STATE/evaluations/held-out")
fi
measure short --data "$STATE/data/short" --min-tokens 4 --max-tokens 16 --samples 1000 --lengths
measure wiki --data "$STATE/data/wiki" --samples 300 --lengths
"$unembed" model card "$model" --licence apache-2.0 --about "$here/about.md" "${evaluations[@]}" \
  --evaluation "Short sentences, 4 to 16 tokens=$STATE/evaluations/short" \
  --evaluation "Wikipedia and news, up to 32 tokens=$STATE/evaluations/wiki"
