#!/usr/bin/env bash
# gpu_scale.sh WARPMARK [NCCL_TESTS_FOLDER]: collectives, links and scaling on the GPUs of this machine, beside nccl-tests
# where its programs (build/all_reduce_perf ...) or its sources lie in that folder. Builds nothing of warpmark; takes at
# most 10 minutes. What was printed whole is in $OUT (default ./gpu_scale); the tables come last.
set -uo pipefail

kWarpmark=$(readlink -f "$1")
readonly kWarpmark
readonly kNcclTests=${2:-}
readonly kOut=${OUT:-$PWD/gpu_scale}
readonly kDeadline=$((SECONDS + 540))
export WARPMARK_DB=$kOut/gpu_scale.db
gpus=$(nvidia-smi --list-gpus | wc -l)
mkdir -p "$kOut"

# Runs COMMAND with its output in $kOut/NAME.txt, for at most SECONDS and the time that is left.
kept() {
  local name=$1 limit=$2 left=$((kDeadline - SECONDS))
  shift 2
  if ((left < 10)); then
    printf '%s: no time left\n' "$name" | tee "$kOut/$name.txt"
    return 1
  fi
  timeout --kill-after=10 $((limit < left ? limit : left)) "$@" >"$kOut/$name.txt" 2>&1
  local code=$?
  printf '%s: exit code %d, %d s\n' "$name" "$code" "$SECONDS"
  return $code
}

build_nccl_tests() {
  [[ -n $kNcclTests ]] || return 1
  if [[ -x $kNcclTests/build/all_reduce_perf ]]; then return 0; fi
  [[ -f $kNcclTests/Makefile ]] || return 1
  local words=(make -C "$kNcclTests" -j"$(nproc)" "NVCC_GENCODE=-gencode=arch=compute_90,code=sm_90")
  if [[ -n ${NCCL_HOME:-} ]]; then words+=("NCCL_HOME=$NCCL_HOME"); fi
  kept nccl_tests_build 150 "${words[@]}"
}

# Sizes and latency: warpmark, nccl-tests, warpmark, nccl-tests, so that a drift meets both.
beside_nccl_tests() {
  local collective=$1 round
  for round in 1 2; do
    kept "warpmark_${collective}_$round" 60 "$kWarpmark" collective "$collective" -g "$gpus" -b 8 -e 1G -f 8 -n 20 -w 5 \
      --json "$kOut/${collective}_$round.json"
    if $with_nccl_tests; then
      kept "nccl_tests_${collective}_$round" 60 env NCCL_NVLS_ENABLE=0 "$kNcclTests/build/${collective}_perf" \
        -g "$gpus" -b 8 -e 1G -f 8 -n 20 -w 5
    fi
  done
}

# Rows "size time_us busbw" of a table of nccl-tests, out of place.
rows() { awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 13 {print $1, $6, $8}' "$@"; }

compare() {
  local collective=$1
  printf '\n%s: size, warpmark us and GB/s, nccl-tests us and GB/s, ratio of busbw (mean of two runs each)\n' "$collective"
  join <(rows "$kOut/warpmark_${collective}_"[12].txt | means) <(rows "$kOut/nccl_tests_${collective}_"[12].txt | means) |
    sort -n | awk '{printf "%12d %10.2f %8.2f %10.2f %8.2f  %s\n", $1, $2, $3, $4, $5, $5 > 0 ? sprintf("%.3f", $3 / $5) : "-"}'
}

means() { awk '{n[$1]++; t[$1] += $2; b[$1] += $3} END {for (s in n) print s, t[s] / n[s], b[s] / n[s]}' | sort -k1,1; }

main() {
  local collective fault
  with_nccl_tests=false
  if build_nccl_tests; then with_nccl_tests=true; fi
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$kOut/machine.txt"
  kept links 60 "$kWarpmark" links
  for collective in all_reduce all_gather reduce_scatter alltoall sendrecv; do beside_nccl_tests "$collective"; done
  for collective in broadcast reduce gather scatter; do
    kept "warpmark_$collective" 30 "$kWarpmark" collective "$collective" -g "$gpus" -b 1K -e 64M -f 64
  done
  kept types 60 bash -c "for d in f64 f16 bf16 int8 uint8 int32 int64; do '$kWarpmark' collective all_reduce -g $gpus -b 1K \
    -e 1M -f 32 -d \$d -o all --no-store; done"
  kept graph 30 "$kWarpmark" collective all_reduce -g "$gpus" -b 8 -e 16M -f 64 -G 1 --no-store
  for fault in wrong_byte:1 dead:1 stopped:1; do
    kept "fault_${fault%%:*}" 40 "$kWarpmark" collective all_reduce -g "$gpus" -b 1M -e 1M --plant "$fault" -T 5 --no-store
  done
  kept too_many 20 "$kWarpmark" collective all_reduce -g $((gpus + 1)) -b 8 -e 8 --no-store
  kept sweep 90 "$kWarpmark" collective all_reduce -g "$gpus" -b 1M -e 64M -f 8 --sweep NCCL_ALGO=Ring,Tree --no-store
  if command -v mpirun >/dev/null; then
    kept process_per_gpu 40 "$kWarpmark" collective all_reduce --engine nccl --ranks "$gpus" -b 8 -e 64M -f 64 --no-store
  fi
  cat "$kOut/machine.txt" "$kOut/links.txt"
  for fault in wrong_byte dead stopped; do
    printf '\nplanted: %s\n' "$fault"
    tail -n 3 "$kOut/fault_$fault.txt"
  done
  for file in too_many graph sweep process_per_gpu; do
    if [[ -f $kOut/$file.txt ]]; then
      printf '\n%s\n' "$file"
      tail -n 25 "$kOut/$file.txt"
    fi
  done
  printf '\nelements that were wrong, by file\n'
  grep -H 'Out of bounds' "$kOut"/*.txt | sed "s|$kOut/||" | sort | uniq -c
  if $with_nccl_tests; then
    for collective in all_reduce all_gather reduce_scatter alltoall sendrecv; do compare "$collective"; done
  else
    grep -h -A60 'Using devices' "$kOut/warpmark_all_reduce_1.txt"
  fi
}

main
