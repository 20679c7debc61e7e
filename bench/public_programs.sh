#!/usr/bin/env bash
# public_programs.sh WARPMARK PROGRAMS OUT [BUDGET]: searches on programs that somebody else wrote, one for each GPU at a time.
#
# public_programs.tsv names them and their commands. PROGRAMS has the folder of each, with the program's own files unmodified, and
# the data that public_programs_data.py makes; folders that are not there are left out. OUT gets NAME.json, NAME.out and NAME.err of
# each search. The cores are divided among the GPUs. BUDGET: 300s.
set -euo pipefail

warpmark=$(realpath "$1") programs=$2 out=$(realpath -m "$3") budget=${4:-300s}
readonly warpmark programs out budget
gpus=$(nvidia-smi -L | wc -l)
cores=$(($(nproc) / gpus))
queue=$(mktemp)
trap 'rm -f "$queue" "$queue.lock"' EXIT
tail -n +2 "$(dirname "${BASH_SOURCE[0]}")/public_programs.tsv" >"$queue"
mkdir -p "$out"

# The first line of the queue, which is removed.
take() {
  # shellcheck disable=SC2016
  flock "$queue.lock" sh -c 'head -n 1 "$1"; sed -i 1d "$1"' - "$queue"
}

search_all() {
  local gpu=$1 name folder command
  local first=$((gpu * cores))
  while IFS=$'\t' read -r name folder _ _ command _ < <(take) && [[ -n $name ]]; do
    if [[ $name == *_ddp || ! -d $programs/$folder ]]; then continue; fi  # ranks need several GPUs: by itself
    (
      cd "$programs/$folder"
      CUDA_VISIBLE_DEVICES=$gpu taskset -c "$first-$((first + cores - 1))" "$warpmark" optimize --budget "$budget" \
        --no-store --db "$out/$name.sqlite" --json "$out/$name.json" --shell -- "$command"
    ) >"$out/$name.out" 2>"$out/$name.err" || true  # the verdict is in the JSON
  done
}

for ((gpu = 0; gpu < gpus; gpu++)); do search_all "$gpu" & done
wait
grep -H '"verdict"' "$out"/*.json
