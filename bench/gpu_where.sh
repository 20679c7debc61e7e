#!/bin/bash
# Do findings name the line of code? On a machine with a GPU and PyTorch: records twenty programs of corpus/ with
# `warpmark profile`, and asks the first finding for its first line. "own" says that it is in the program's own file; the
# line itself, which is printed, is to be judged against the flaw. Then what recording costs with and without stacks.
#
#   bench/gpu_where.sh WARPMARK [OUT] [RECORDED_S] [LIMIT_S] [PROGRAM ...]        records 1 second of each, for at most
#   400 s together; four at a time, so that times mean nothing there
set -u
cd "$(dirname "$0")/.." || exit 1
warpmark=$(readlink -f "${1:?usage: bench/gpu_where.sh WARPMARK [OUT] [RECORDED_S] [LIMIT_S]}")
out=$(mkdir -p "${2:-/tmp/warpmark-where}" && readlink -f "${2:-/tmp/warpmark-where}")
recorded=${3:-1}
end=$((SECONDS + ${4:-400}))
shift $(($# < 4 ? $# : 4))
asked=" $* "

programs=$(python3 - <<'PY'
import json
wanted = ("cpu_gpu_sync", "data_loading", "host_transfer", "memory_allocation", "attention")
taken = {}
for program in json.load(open("corpus/manifest.json"))["programs"]:
    cause = program["cause"]
    if program["framework"] == "pytorch" and program["gpus"] == 1 and cause in wanted and taken.get(cause, 0) < 4:
        taken[cause] = taken.get(cause, 0) + 1
        print(cause, program["name"], program["file"])
PY
)

record() {
  local cause=$1 name=$2 file=$3
  timeout 60 "$warpmark" profile --duration "${recorded}s" --out "$out/$name.wmrec" -- \
    python3 corpus/run.py "$name" flawed $((recorded + 5)) \
    >"$out/$name.log" 2>&1
  "$warpmark" analyze "$out/$name.wmrec" --source corpus --json "$out/$name.json" >/dev/null 2>>"$out/$name.log"
  python3 - "$cause" "$name" "$file" "$out/$name.json" <<'PY'
import json, os, sys
cause, name, file, path = sys.argv[1:]
try:
    analysis = json.load(open(path))
except (OSError, ValueError) as problem:
    sys.exit(print(f"{name}\t{cause}\tnot recorded: {problem}"))
finding = analysis["findings"][0] if analysis["findings"] else {"rule": "none", "evidence": []}
lines = [f for f in finding["evidence"] if f["id"] == "source_line"]
text = lines[0]["text"] if lines else "no line"
print(name, cause, finding["rule"], "own" if os.path.basename(file) + ":" in text else "other", text, sep="\t")
PY
}

while read -r cause name file; do
  [ "$asked" != "  " ] && [[ $asked != *" $name "* ]] && continue
  [ $SECONDS -ge $end ] && { echo "$name: no time left" >&2; continue; }
  record "$cause" "$name" "$file" &
  while [ "$(jobs -rp | wc -l)" -ge 4 ]; do sleep 0.2; done
done <<<"$programs" > >(tee "$out/lines.tsv")
wait
echo "$(grep -c $'\town\t' "$out/lines.tsv") of $(wc -l <"$out/lines.tsv") first lines are in the program's own file."

cat >"$out/vit_like.py" <<'PY'
import sys, time, torch
kind = sys.argv[1]
if kind == "vit":
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
    model, x = torch.nn.TransformerEncoder(layer, 12).cuda().bfloat16(), torch.randn(64, 197, 768).cuda().bfloat16()
else:
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(40)]).cuda()
    x = torch.randn(32, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
end = time.time() + 14
while time.time() < end:
    optimizer.zero_grad()
    model(x).float().square().mean().backward()
    optimizer.step()
torch.cuda.synchronize()
PY
for kind in vit mlp; do
  for stacks in "" --no-stacks; do
    [ $SECONDS -ge $((end + 20)) ] && continue
    # shellcheck disable=SC2086  # empty is no argument
    timeout 60 "$warpmark" profile --delay 4s --duration 1s $stacks --out "$out/$kind.wmrec" -- \
      python3 "$out/vit_like.py" $kind 2>&1 | sed -n "s/^/$kind ${stacks:-with stacks}: /; /slower/p"
  done
done
