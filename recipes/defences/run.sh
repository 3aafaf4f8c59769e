#!/usr/bin/env bash
# What defences leave to attackers and what they cost: the tables and the picture of docs/defences.md. Every step
# resumes: run it again after a stop.
#
#   TEXTS=corpora BENCHMARKS=benchmarks STATE=state recipes/defences/run.sh
#
# TEXTS holds en_short.txt.gz, en_messages.txt.gz and en_wiki_news.txt.gz, one sentence a line. BENCHMARKS holds
# scifact/ and climate-fever-sentences/ in BEIR's layout, and stsb/test.tsv.
set -euo pipefail
: "${TEXTS:?folder of the texts}" "${BENCHMARKS:?folder of the benchmarks}" "${STATE:?folder for data and rows}"
here=$(cd "$(dirname "$0")" && pwd)
unembed=${UNEMBED:-unembed}
python=${PYTHON:-python3}

# One setting of each method, three of the noise that the literature measures.
chosen=gaussian:sigma=0.01,gaussian:sigma=0.02,gaussian:sigma=0.05,rotation,permutation,int8,binary
chosen+=,cloaked:approximation=1,cloaked:approximation=2,pca:removed=0.75,truncation:removed=0.75,ball:radius=0.8
chosen+=,pq:subvector=16,random-projection:removed=0.5,all-but-the-top:components=16,mixing:weight=0.5
chosen+=,dp-gaussian:epsilon=3000,metric-dp:eta=300,learnt:adversary=1

mkdir -p "$STATE"
[ -d "$STATE/texts" ] || "$python" "$here/../../benchmarks/defence_texts.py" "en-short=$TEXTS/en_short.txt.gz:4-16" \
  "en-messages=$TEXTS/en_messages.txt.gz:4-32" "en-long=$TEXTS/en_wiki_news.txt.gz:17-32" -o "$STATE/texts"
"$unembed" prepare --source "en-short=$STATE/texts/en-short.txt" --source "en-messages=$STATE/texts/en-messages.txt" \
  --source "en-long=$STATE/texts/en-long.txt" --min-tokens 4 -o "$STATE/data"

trial() { # OUTPUT SHORTEST LONGEST DEFENCES AGAINST [SEARCHED]: 300 texts, a cheap decoder; of these so many are searched
  "$unembed" evaluate --data "$STATE/data" --min-tokens "$2" --max-tokens "$3" --samples 300 --first-samples 300 \
    --quality fast --num-lengths 1 --ranking score --defences "$4" --against "$5" \
    --guided-calls 100 --guided-samples "${6:-24}" --retrieval "$BENCHMARKS/scifact" \
    --retrieval "$BENCHMARKS/climate-fever-sentences" --sts "$BENCHMARKS/stsb/test.tsv" -o "$STATE/$1"
}
trial short 4 16 all unaware,aware,columns,pairs # whole curves
trial long 17 32 "$chosen" unaware,aware,columns,pairs
trial short 4 16 "$chosen" all 100 # and with the defended encoder at hand
trial long 17 32 "$chosen" all 24
tables() { # FOLDER NAME OPTION...: NAME.md in STATE; with PAGE=docs/defences.md also between the page's marks
  page=(); [ -z "${PAGE:-}" ] || page=(--page "$PAGE" --mark "defences-$2")
  "$python" "$here/../../benchmarks/defence_tables.py" "$STATE/$1" --sts "$BENCHMARKS/stsb/test.tsv" "${page[@]}" "${@:3}" \
    > "$STATE/$2.md"
}
tables short short --only "$chosen" --show costs,attackers
tables long long --only "$chosen" --show costs,attackers
tables short curves --against unaware,aware,columns,pairs --picture "$STATE" --show conclusions
