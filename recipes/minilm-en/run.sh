#!/usr/bin/env bash
# The bundled English model, from texts to a folder that ships. Every step resumes: run it again after a stop.
#
#   TEXTS=corpora STATE=state recipes/minilm-en/run.sh
#
# TEXTS holds en_short.txt.gz (Tatoeba, CC BY 2.0 FR) and en_wiki_news.txt.gz (Wikipedia, CC BY-SA 3.0;
# Wikinews, CC BY 2.5), one sentence a line. STATE takes the data and the runs: some gigabytes.
set -euo pipefail
: "${TEXTS:?folder of en_short.txt.gz and en_wiki_news.txt.gz}" "${STATE:?folder for data and runs}"
here=$(cd "$(dirname "$0")" && pwd)
unembed=${UNEMBED:-unembed}

# Texts to vectors. Sentences of more than 32 tokens are left out, not cut: people embed whole ones.
"$unembed" prepare --source en="$TEXTS/en_short.txt.gz" --min-tokens 2 --max-tokens 32 --seq-len 32 -o "$STATE/data/short"
"$unembed" prepare --source en="$TEXTS/en_wiki_news.txt.gz" --min-tokens 4 --max-tokens 32 --seq-len 32 -o "$STATE/data/wiki"

# Short texts first, then all of them from there.
"$unembed" train --config "$here/stage1.yaml" --data "$STATE/data/short" --steps "${STAGE1_STEPS:-20000}" -o "$STATE/runs/stage1"
# Long sentences count twice, for they are few.
"$unembed" train --config "$here/stage2.yaml" --start-from "$STATE/runs/stage1/best" \
  --data "$STATE/data/short" --data "$STATE/data/wiki" --data "$STATE/data/wiki" --steps "${STAGE2_STEPS:-60000}" -o "$STATE/runs/stage2"
# Then those six times: they are what is hard.
wiki=(--data "$STATE/data/wiki")
"$unembed" train --config "$here/stage2.yaml" --start-from "$STATE/runs/stage2/best" --learning-rate 5e-4 --warmup 100 --hold 0.6 \
  --data "$STATE/data/short" "${wiki[@]}" "${wiki[@]}" "${wiki[@]}" "${wiki[@]}" "${wiki[@]}" "${wiki[@]}" \
  --steps "${STAGE3_STEPS:-2600}" --seed 4 -o "$STATE/runs/stage3"

# Free-running, it repeats words that it said itself: what that costs was found on validation texts.
"$unembed" model export "$STATE/runs/stage3/best" --dtype int8 --repeat-penalty 1.0 -o "$STATE/minilm-en"

# The surrogate that comes with it: its token vectors begin with potion's. Short texts, then all of them.
"$unembed" encoders fetch potion
"$unembed" surrogate --data "$STATE/data/short" --start potion --layers 3 --steps 4800 --warmup 200 --hold 0.3 \
  --learning-rate 0.0015 -o "$STATE/runs/surrogate"
"$unembed" surrogate --data "$STATE/data/short" --data "$STATE/data/wiki" --data "$STATE/data/wiki" --data "$STATE/data/wiki" \
  --start "$STATE/runs/surrogate/latest" --layers 3 --steps 2400 --warmup 100 --hold 0.3 --learning-rate 0.0012 \
  --model "$STATE/minilm-en" -o "$STATE/runs/surrogate-all"

# What follows what: counted in all texts but the held-out ones.
"$unembed" phrases --model "$STATE/minilm-en" --source en="$TEXTS/en_short.txt.gz" --source en="$TEXTS/en_wiki_news.txt.gz"

# What it recovers, and its card.
measure() { "$unembed" evaluate --model "$STATE/minilm-en" --samples 1000 "${@:2}" -o "$STATE/evaluations/$1"; }
measure short-known --data "$STATE/data/short" --min-tokens 4 --max-tokens 16 --known-length --lengths
measure short-unknown --data "$STATE/data/short" --min-tokens 4 --max-tokens 16 --unknown-length
measure short-validation --data "$STATE/data/short" --split validation --min-tokens 4 --max-tokens 16 --unknown-length
measure wiki --data "$STATE/data/wiki" --unknown-length --lengths
"$unembed" model card "$STATE/minilm-en" --licence apache-2.0 --about "$here/about.md" \
  --evaluation "Short texts, length known=$STATE/evaluations/short-known" \
  --evaluation "Short texts, length unknown=$STATE/evaluations/short-unknown" \
  --evaluation "Short texts, validation, length unknown=$STATE/evaluations/short-validation" \
  --evaluation "Wikipedia and news, length unknown=$STATE/evaluations/wiki"
