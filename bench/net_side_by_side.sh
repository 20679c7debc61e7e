#!/usr/bin/env bash
# net_side_by_side.sh WARPMARK [ROUNDS] [SECONDS]: the same loopback path by iperf3 and by `warpmark net`, in turn, so that
# what drifts meets both; prints every round, the medians and their ratio. Where threads run decides loopback rates more than
# anything else, so the servers are bound to one processor and the clients to another. Needs iperf3, jq, taskset.
set -euo pipefail

readonly kWarpmark=$1
readonly kRounds=${2:-10}
readonly kSeconds=${3:-3}
readonly kToken=side-by-side

folder=$(mktemp -d)
taskset --cpu-list 1 iperf3 --server --bind 127.0.0.1 --port 5999 >"$folder/iperf3.log" 2>&1 &
iperf_server=$!
taskset --cpu-list 1 "$kWarpmark" net server --port 5998 --token $kToken >"$folder/warpmark.log" 2>&1 &
warpmark_server=$!
trap 'kill $iperf_server $warpmark_server 2>/dev/null; rm -rf "$folder"' EXIT
sleep 1

by_iperf3() {
  taskset --cpu-list 0 iperf3 --client 127.0.0.1 --port 5999 --time "$kSeconds" --json | jq .end.sum_received.bits_per_second
}

by_warpmark() {
  taskset --cpu-list 0 "$kWarpmark" net client 127.0.0.1 --port 5998 --token $kToken --streams 1 --sizes 0 --udp 0 --time "$kSeconds" \
    --format json | jq '.throughput[0].rate * 8'
}

median() { sort -g | awk '{v[NR] = $1} END {print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

for ((round = 1; round <= kRounds; ++round)); do
  if ((round % 2)); then
    a=$(by_iperf3)
    b=$(by_warpmark)
  else
    b=$(by_warpmark)
    a=$(by_iperf3)
  fi
  printf '%s\n' "$a" >>"$folder/iperf3.txt"
  printf '%s\n' "$b" >>"$folder/warpmark.txt"
  awk -v r="$round" -v a="$a" -v b="$b" 'BEGIN {printf "round %2d: iperf3 %6.2f Gbit/s, warpmark %6.2f Gbit/s, ratio %.3f\n", r, a / 1e9, b / 1e9, b / a}'
done
a=$(median <"$folder/iperf3.txt")
b=$(median <"$folder/warpmark.txt")
awk -v a="$a" -v b="$b" 'BEGIN {printf "medians: iperf3 %.2f Gbit/s, warpmark %.2f Gbit/s, ratio %.3f\n", a / 1e9, b / 1e9, b / a}'
