#!/usr/bin/env bash
# One model for ten languages, of Universal Sentence Encoder multilingual, from texts to a folder. Every step resumes:
# run it again after a stop.
#
#   TEXTS=corpora STATE=state recipes/ten-languages/run.sh
#
# TEXTS holds one sentence a line: LANG.txt.gz and LANG_messages.txt.gz for nine languages; en_short.txt.gz,
# en_messages.txt.gz and en_everyday/KIND.txt.gz for English (about.md names sources and licences). STATE takes the data
# and the runs: some gigabytes. START is a model to go on from, by default a new one; SEED draws other texts than it has
# seen.
set -euo pipefail
: "${TEXTS:?folder of the texts}" "${STATE:?folder for data and runs}"
here=$(cd "$(dirname "$0")" && pwd)
unembed=${UNEMBED:-unembed}
python=${PYTHON:-python3}
languages=(en de fr es pt ru ja zh ko ar)

files() { # LANG: its texts, as LANG=FILE
  if [ "$1" = en ]; then
    for file in "$TEXTS/en_short.txt.gz" "$TEXTS/en_messages.txt.gz" "$TEXTS"/en_everyday/*.txt.gz; do echo "en=$file"; done
  else
    echo "$1=$TEXTS/$1.txt.gz"
    echo "$1=$TEXTS/$1_messages.txt.gz"
  fi
}

"$unembed" encoders fetch use-multilingual
"$unembed" encoders fetch multilingual-e5-small
backbone=$STATE/backbone
if [ ! -f "$backbone/config.json" ]; then # written last
  given=()
  for language in "${languages[@]}"; do mapfile -t -O "${#given[@]}" given < <(files "$language"); done
  "$python" "$here/cut_backbone.py" -o "$backbone" "${given[@]}"
fi

data=()
for language in "${languages[@]}"; do
  sources=()
  while read -r source; do sources+=(--source "$source"); done < <(files "$language")
  "$unembed" prepare "${sources[@]}" --limit 160000 --pick random --seed "${SEED:-0}" --encoder use-multilingual --tokenizer "$backbone" \
    --min-tokens 3 --max-tokens 24 --seq-len 24 -o "$STATE/data/$language"
  data+=(--data "$STATE/data/$language")
done

# Words first, then the blocks; what has learnt already goes on at a lower rate.
heads=() broad=() minutes=(9 92)
if [ -n "${START:-}" ]; then
  minutes=(5 58)
  heads=(--start-from "$START" --learning-rate 4.0e-4)
  broad=(--learning-rate 2.5e-4 --hold 0.3)
fi
"$unembed" train --config "$here/heads.yaml" --backbone "$backbone" "${heads[@]}" "${data[@]}" --minutes "${HEADS_MINUTES:-${minutes[0]}}" \
  -o "$STATE/runs/heads"
"$unembed" train --config "$here/broad.yaml" --backbone "$backbone" --start-from "$STATE/runs/heads/latest" "${broad[@]}" "${data[@]}" \
  --minutes "${BROAD_MINUTES:-${minutes[1]}}" -o "$STATE/runs/broad"
model=$STATE/use-ten
[ -d "$model" ] || "$unembed" model export "$STATE/runs/broad/latest" --dtype int8 --repeat-penalty 1.0 -o "$model"

# What its texts are refined with: a surrogate, and what follows what in all texts but the held-out ones.
"$unembed" surrogate "${data[@]}" --start encoder --hidden 192 --heads 6 --ffn 768 --layers 4 --max-tokens 24 --source-alpha 0.5 \
  --steps "${SURROGATE_STEPS:-7000}" --warmup 100 --hold 0.4 --learning-rate 0.0015 --model "$model" -o "$STATE/runs/surrogate"
sources=()
for language in "${languages[@]}"; do while read -r source; do sources+=(--source "$source"); done < <(files "$language"); done
"$unembed" phrases --model "$model" "${sources[@]}" --min-pairs 3 --min-triples 5

# What it recovers of held-out texts, by language, and its card. Validation texts are held out as well: what is exported
# is the end of the run, whichever step validated best. Korean and Chinese have fewer short texts, so more are looked at.
held_out=()
mkdir -p "$STATE/held-out"
for language in "${languages[@]}"; do
  for split in test validation; do "$unembed" data texts "$STATE/data/$language" --split "$split"; done \
    > "$STATE/held-out/$language.txt"
  held_out+=(--source "$language=$STATE/held-out/$language.txt")
done
"$unembed" prepare "${held_out[@]}" --limit 420 --quota ko=1000 --quota zh=600 --encoder use-multilingual --tokenizer "$backbone" --min-tokens 4 --max-tokens 16 \
  --seq-len 24 --validation-share 0 --test-share 1 -o "$STATE/data/held-out"
"$unembed" evaluate --model "$model" --data "$STATE/data/held-out" --samples 10000 --no-floors \
  --metrics token_accuracy,token_f1,exact_match,bleu,chrf,cosine -o "$STATE/evaluations/held-out"
"$unembed" model card "$model" --licence apache-2.0 --about "$here/about.md" \
  --evaluation "Ten languages, 4 to 16 tokens=$STATE/evaluations/held-out"
