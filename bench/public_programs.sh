#!/usr/bin/env bash
# public_programs.sh WARPMARK TABLE OUT [BUDGET]: searches on programs that somebody else wrote, one for each GPU at a time.
#
# TABLE has lines NAME <tab> FOLDER <tab> COMMAND; the command runs unmodified in the folder. OUT gets NAME.json, NAME.out and
# NAME.err of each search. The cores are divided among the GPUs. BUDGET: 300s.
set -euo pipefail

readonly warpmark=$1 table=$2 out=$3 budget=${4:-300s}
gpus=$(nvidia-smi -L | wc -l)
cores=$(($(nproc) / gpus))
queue=$(mktemp)
trap 'rm -f "$queue" "$queue.lock"' EXIT
cp "$table" "$queue"
mkdir -p "$out"

# The first line of the queue, which is removed.
take() {
  # shellcheck disable=SC2016
  flock "$queue.lock" sh -c 'head -n 1 "$1"; sed -i 1d "$1"' - "$queue"
}

search_all() {
  local gpu=$1 name folder command
  local first=$((gpu * cores))
  while IFS=$'\t' read -r name folder command < <(take) && [[ -n $name ]]; do
    (
      cd "$folder"
      CUDA_VISIBLE_DEVICES=$gpu taskset -c "$first-$((first + cores - 1))" "$warpmark" optimize --budget "$budget" \
        --no-store --db "$out/$name.sqlite" --json "$out/$name.json" --shell -- "$command"
    ) >"$out/$name.out" 2>"$out/$name.err" || true  # the verdict is in the JSON
  done
}

for ((gpu = 0; gpu < gpus; gpu++)); do search_all "$gpu" & done
wait
grep -H '"verdict"' "$out"/*.json
