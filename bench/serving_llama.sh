#!/bin/sh
# llama.cpp's server with a network of random weights, measured by `warpmark load run`, by the client of `vllm bench serve`
# and by the server itself (bench/serving_vllm.py); and llama.cpp's own llama-bench for one stream. llama.cpp comes from Debian
# unstable into a root of its own (about 300 MB). Needs root, mmdebstrap, python3-aiohttp. Server on one processor, clients on
# the other.
#
# usage: bench/serving_llama.sh ROOT WARPMARK VLLM/benchmarks/lib/endpoint_request_func.py [LEVELS [REQUESTS [TOKENS [ROUNDS]]]]
set -eu
root=$1 warpmark=$2 client=$3
shift 3
here=$(dirname "$0")
port=8371
if [ ! -x "$root/usr/bin/llama-server" ]; then
  mmdebstrap --quiet --aptopt='Acquire::Check-Valid-Until "false"' --variant=apt \
    --include=llama.cpp-tools,python3-gguf,python3-numpy sid "$root"
fi
install -m 644 "$here/random_gguf.py" "$root/tmp/random_gguf.py"
chroot "$root" python3 /tmp/random_gguf.py /tmp/random.gguf 2 512
chroot "$root" llama-server --version 2>&1 | head -1
taskset -c 0 chroot "$root" llama-bench -m /tmp/random.gguf -t 1 -p 32 -n 64 -o jsonl |
  python3 -c 'import json, sys
for row in map(json.loads, sys.stdin):
    print("llama-bench, %d prompt and %d new tokens: %.4g tokens/s" % (row["n_prompt"], row["n_gen"], row["avg_ts"]))'
taskset -c 0 chroot "$root" llama-server -m /tmp/random.gguf --port $port -t 1 -tb 1 -c 16384 -np 8 >"$root/tmp/server.log" 2>&1 &
server=$!
trap 'kill $server' EXIT
until python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/health')" 2>/dev/null; do sleep 0.5; done
taskset -c 1 /usr/bin/python3 "$here/serving_vllm.py" "$warpmark" "http://127.0.0.1:$port" m "$client" "$@"
