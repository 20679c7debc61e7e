#!/usr/bin/env bash
# net_side_by_side.sh WARPMARK [ROUNDS] [SECONDS]: the same loopback path by iperf3 and by `warpmark net`, in turn, so that
# what drifts meets both: one stream, four, and one that the server sends. Prints every round, and of each the medians and
# the median ratio within rounds with its 95 % interval by order statistics. Where threads run decides loopback rates more
# than anything else, so the servers are bound to one processor and the clients to another. Needs iperf3, jq, taskset.
set -euo pipefail

readonly kWarpmark=$1
readonly kRounds=${2:-20}
readonly kSeconds=${3:-2}
export WARPMARK_NET_TOKEN=side-by-side

folder=$(mktemp -d)
taskset --cpu-list 1 iperf3 --server --bind 127.0.0.1 --port 5999 >"$folder/iperf3.log" 2>&1 &
iperf_server=$!
taskset --cpu-list 1 "$kWarpmark" net server --port 5998 >"$folder/warpmark.log" 2>&1 &
warpmark_server=$!
trap 'kill $iperf_server $warpmark_server 2>/dev/null; rm -rf "$folder"' EXIT
sleep 1

# by_iperf3 STREAMS [--reverse]: Gbit/s that the receiver got
by_iperf3() {
  taskset --cpu-list 0 iperf3 --client 127.0.0.1 --port 5999 --time "$kSeconds" --parallel "$1" "${@:2}" --json |
    jq '.end.sum_received.bits_per_second / 1e9'
}

by_warpmark() {
  taskset --cpu-list 0 "$kWarpmark" net client 127.0.0.1 --port 5998 --streams "$1" "${@:2}" --sizes 0 --udp 0 \
    --time "$kSeconds" --no-store --format json | jq '.throughput[0].rate * 8 / 1e9'
}

# summary FILE: of lines "iperf3 warpmark ratio"
summary() {
  sort -g -k3 "$1" | awk '
    function middle(values, n) { return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2 }
    function sorted(from, to, n,   i, j, t) {
      for (i = 1; i <= n; ++i) { t = from[i]; for (j = i - 1; j >= 1 && to[j] > t; --j) to[j + 1] = to[j]; to[j + 1] = t }
    }
    { a[NR] = $1; b[NR] = $2; ratio[NR] = $3 }
    END {
      # The largest rank whose tail of the binomial distribution of NR tosses is at most 2.5 %.
      chance = 0.5 ^ NR; tail = chance; rank = 0
      while (tail <= 0.025) { ++rank; chance *= (NR - rank + 1) / rank; tail += chance }
      sorted(a, sa, NR); sorted(b, sb, NR)
      printf "medians: iperf3 %.2f Gbit/s, warpmark %.2f Gbit/s; ratio within rounds %.3f", middle(sa, NR), middle(sb, NR), middle(ratio, NR)
      if (rank > 0) printf " (%.3f .. %.3f)\n", ratio[rank], ratio[NR - rank + 1]; else print " (too few rounds for an interval)"
    }'
}

# compare NAME STREAMS [--reverse]
compare() {
  local name=$1 a b
  shift
  : >"$folder/rounds.txt"
  for ((round = 1; round <= kRounds; ++round)); do
    if ((round % 2)); then
      a=$(by_iperf3 "$@")
      b=$(by_warpmark "$@")
    else
      b=$(by_warpmark "$@")
      a=$(by_iperf3 "$@")
    fi
    awk -v a="$a" -v b="$b" 'BEGIN {print a, b, b / a}' >>"$folder/rounds.txt"
    awk -v n="$name" -v r="$round" 'END {printf "%s, round %2d: iperf3 %6.2f, warpmark %6.2f Gbit/s, ratio %.3f\n", n, r, $1, $2, $3}' \
      "$folder/rounds.txt"
  done
  echo "$name, $kRounds rounds, load $(cut -d' ' -f1 /proc/loadavg): $(summary "$folder/rounds.txt")"
}

compare "1 stream" 1
compare "4 streams" 4
compare "1 stream, reverse" 1 --reverse
