#!/bin/sh
# The load client beside one on aiohttp (Debian: python3-aiohttp), in turn, against the same reference server: the server
# on one processor, the client on the other. Prints one line of JSON each.
#
# usage: bench/serving.sh [WARPMARK] [STREAMS] [EVENTS_PER_S] [SECONDS]
set -eu
warpmark=${1:-build/release/warpmark}
streams=${2:-200}
rate=${3:-10000}
seconds=${4:-10}
folder=$(mktemp -d)
itl_us=$((streams * 1000000 / rate))
tokens=$((3 * rate / streams / 2))
server=
# The server is ended with the shell, whatever happens.
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT

taskset -c 0 "$warpmark" load server --port 0 --ttft 200ms --itl "${itl_us}us" --duration 600s >"$folder/server" &
server=$!
until grep -q listening "$folder/server"; do sleep 0.1; done
url=$(sed -n 's/listening on \([^,]*\),.*/\1/p' "$folder/server")

taskset -c 1 /usr/bin/python3 "$(dirname "$0")/serving_peer.py" "$url" "$streams" "$tokens" "$seconds"
# The same load by warpmark: its selftest has its own server thread, on the same two processors.
kill "$server"
wait "$server" 2>/dev/null || true
server=
taskset -c 0,1 "$warpmark" load selftest --streams "$streams" --events-per-s "$rate" --duration "${seconds}s" \
  --json "$folder/self.json" >/dev/null
/usr/bin/python3 - "$folder/self.json" <<'PYTHON'
import json
import sys

point = json.load(open(sys.argv[1]))["points"][0]
print(json.dumps({
    "client": "warpmark", "streams": point["streams"], "seconds": point["seconds"], "failed": point["failed"],
    "events_per_s": point["events_per_s"],
    "first_token_error_p50_s": point["first_token_error"]["p50"],
    "first_token_error_p99_s": point["first_token_error"].get("p99"),
    "event_error_p50_s": point["event_error"]["p50"], "event_error_p99_s": point["event_error"]["p99"],
    "receive_lag_p99_s": point["client"]["receive_lag_p99_s"], "verdict": point["client"]["verdict"],
}))
PYTHON
