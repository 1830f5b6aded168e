#!/usr/bin/env bash
# From nothing to recommendations with their evidence, on real ratings.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BIN:=.venv/bin}" "${DATA:=ml-100k}" "${RECIPE:=plus}" "${ITERATIONS:=}"
model=runs/demo
user=${WHO:-196}

"$BIN/evichain" data fetch "$DATA"
"$BIN/evichain" data describe "$DATA"
"$BIN/evichain" train "$DATA" --recipe "$RECIPE" --split random:0.8 --seed 0 \
    ${ITERATIONS:+--iterations "$ITERATIONS"} --out "$model" --force
"$BIN/evichain" recommend "$model" "$user" -n 10
best=$("$BIN/evichain" recommend "$model" "$user" -n 1 --json |
    "$BIN/python" -c 'import json, sys; print(json.load(sys.stdin)["recommendations"][0]["item"])')
"$BIN/evichain" explain "$model" "$user" "$best" --pieces 3
"$BIN/evichain" explain "$model" "$user" "$best" --pieces 3 --format svg --out runs/demo.svg --force
echo "The evidence as a picture: runs/demo.svg"
