#!/usr/bin/env bash
# gpu_scale.sh WARPMARK [NCCL_TESTS_FOLDER]: collectives and links on the GPUs of this machine, beside nccl-tests where its
# programs (build/all_reduce_perf ...) or its sources lie in that folder: on all GPUs, and on two at a time where there are
# four or more. Builds nothing of warpmark; takes at most LIMIT seconds (540). What was printed whole is in $OUT (default
# ./gpu_scale), and in one file of it, gpu_scale.tar.gz; the tables come last.
set -uo pipefail

kWarpmark=$(readlink -f "$1")
readonly kWarpmark
readonly kNcclTests=${2:-}
readonly kOut=${OUT:-$PWD/gpu_scale}/scale
readonly kDeadline=$((SECONDS + ${LIMIT:-540}))
readonly kSizes=(-b 16 -e "${LARGEST:-4G}" -f 4 -n 20 -w 5)
readonly kCollectives=(all_reduce all_gather reduce_scatter alltoall sendrecv broadcast reduce gather scatter)
export NCCL_NVLS_ENABLE=0
gpus=$(nvidia-smi --list-gpus | wc -l)
mkdir -p "$kOut"
# shellcheck source=bench/kept.sh
source "$(dirname "${BASH_SOURCE[0]}")/kept.sh"

build_nccl_tests() {
  [[ -n $kNcclTests ]] || return 1
  if [[ -x $kNcclTests/build/all_reduce_perf ]]; then return 0; fi
  [[ -f $kNcclTests/Makefile ]] || return 1
  local words=(make -C "$kNcclTests" -j"$(nproc)" "NVCC_GENCODE=-gencode=arch=compute_90,code=sm_90")
  if [[ -n ${NCCL_HOME:-} ]]; then words+=("NCCL_HOME=$NCCL_HOME"); fi
  kept nccl_tests_build 150 "${words[@]}"
}

# SET NUMBER DEVICES COLLECTIVE...: sizes and latency of warpmark, nccl-tests, nccl-tests, warpmark, so that a drift meets both.
beside_nccl_tests() {
  local set=$1 number=$2 devices=$3 collective turn
  shift 3
  for collective in "$@"; do
    for turn in ours_1 theirs_1 theirs_2 ours_2; do
      if [[ $turn == ours_* ]]; then
        kept "${set}_${collective}_$turn" 60 env CUDA_VISIBLE_DEVICES="$devices" "$kWarpmark" collective "$collective" \
          -g "$number" "${kSizes[@]}" --json "$kOut/${set}_${collective}_$turn.json" --db "$kOut/$set.db"
      elif $with_nccl_tests; then
        kept "${set}_${collective}_$turn" 60 env CUDA_VISIBLE_DEVICES="$devices" \
          "$kNcclTests/build/${collective}_perf" -g "$number" "${kSizes[@]}"
      fi
    done
  done
}

# Data types with all operations, planted faults, graphs, settings, one process a GPU: what is right, not how fast.
check_rest() {
  local fault
  kept types 100 bash -c "for d in f32 f64 f16 bf16 int8 uint8 int32 int64; do '$kWarpmark' collective all_reduce -g $gpus \
    -b 1K -e 1M -f 32 -n 5 -w 1 -d \$d -o all --no-store; done"
  for fault in wrong_byte:1 dead:1 stopped:1 slow:1:20ms; do
    kept "fault_${fault%%:*}" 40 "$kWarpmark" collective all_reduce -g "$gpus" -b 1M -e 1M --plant "$fault" -T 5 --no-store
  done
  kept too_many 20 "$kWarpmark" collective all_reduce -g $((gpus + 1)) -b 8 -e 8 --no-store
  if command -v mpirun >/dev/null; then
    kept fault_unequal 40 "$kWarpmark" collective all_reduce --engine nccl --ranks "$gpus" -b 1M -e 1M --plant unequal:1 -T 5 \
      --no-store
    kept process_per_gpu 40 "$kWarpmark" collective all_reduce --engine nccl --ranks "$gpus" -b 8 -e 64M -f 64 --no-store
  fi
  kept graph_ours 40 "$kWarpmark" collective all_reduce -g "$gpus" -b 8 -e 64M -f 16 -G 1 --no-store
  if $with_nccl_tests; then
    kept graph_theirs 40 "$kNcclTests/build/all_reduce_perf" -g "$gpus" -b 8 -e 64M -f 16 -G 10
  fi
  kept sweep 60 "$kWarpmark" collective all_reduce -g "$gpus" -b 1M -e 64M -f 64 --sweep NCCL_ALGO=Ring,Tree --no-store
}

# Rows "size time_us busbw" of a table of nccl-tests, out of place.
rows() { awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 13 {print $1, $6, $8}' "$@"; }

compare() {
  local set=$1 collective=$2
  [[ -f $kOut/${set}_${collective}_theirs_1.txt ]] || return
  printf '\n%s, %s: size, warpmark us and GB/s, nccl-tests us and GB/s, ratio of busbw (means of two runs each)\n' \
    "$collective" "$set"
  join <(rows "$kOut/${set}_${collective}_ours_"[12].txt | means) \
    <(rows "$kOut/${set}_${collective}_theirs_"[12].txt | means) | sort -n |
    awk '{printf "%12d %10.2f %8.2f %10.2f %8.2f  %s\n", $1, $2, $3, $4, $5, ($5 > 0 ? sprintf("%.3f", $3 / $5) : "-")}'
}

means() { awk '{n[$1]++; t[$1] += $2; b[$1] += $3} END {for (s in n) print s, t[s] / n[s], b[s] / n[s]}' | sort -k1,1; }

main() {
  local collective file
  with_nccl_tests=false
  if build_nccl_tests; then with_nccl_tests=true; fi
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$kOut/machine.txt"
  nvidia-smi topo -m >"$kOut/topology.txt"
  kept links 60 "$kWarpmark" links --db "$kOut/links.db"
  beside_nccl_tests "all$gpus" "$gpus" "$(seq -s, 0 $((gpus - 1)))" "${kCollectives[@]}"
  if ((gpus >= 4)); then
    beside_nccl_tests pair 2 0,1 "${kCollectives[@]:0:5}" &
    beside_nccl_tests pair 2 2,3 "${kCollectives[@]:5}"
    wait
  fi
  check_rest
  kept tune 100 "$kWarpmark" collective all_reduce -g "$gpus" -b 1M -e 64M -f 64 --tune --rounds 2 --no-store
  tar czf "$kOut/../gpu_scale.tar.gz" -C "$kOut" .
  cat "$kOut/machine.txt" "$kOut/links.txt"
  for file in fault_wrong_byte fault_dead fault_stopped fault_slow fault_unequal; do
    printf '\nplanted: %s\n' "${file#fault_}"
    tail -n 3 "$kOut/$file.txt"
  done
  for file in too_many graph_ours graph_theirs sweep tune process_per_gpu; do
    if [[ -f $kOut/$file.txt ]]; then
      printf '\n%s\n' "$file"
      tail -n 14 "$kOut/$file.txt"
    fi
  done
  printf '\nelements that were wrong, by file\n'
  grep -H 'Out of bounds' "$kOut"/*.txt | sed "s|$kOut/||" | awk '{print $1, $(NF - 1), $NF}' | grep -v 'OK$' || echo none
  for collective in "${kCollectives[@]}"; do
    compare "all$gpus" "$collective"
    compare pair "$collective"
  done | tee "$kOut/../side_by_side.txt"
}

main
