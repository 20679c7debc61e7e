#!/usr/bin/env bash
# Runs the packed tool on a GPU machine and PyTorch beside it, in one go. Usage: prove.sh WARPMARK_TARBALL OUT_FOLDER
# Sets nothing on the GPU. Raw output goes to OUT_FOLDER; the tables come last.
set -uo pipefail
tarball=$1 out=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
tar -xf "$tarball" -C "$work"  # .tar.zst where zstd is installed, or the same repacked as .tar.gz
warpmark=$(echo "$work"/warpmark-*/bin/warpmark)
export WARPMARK_DB=$work/results.db
mkdir -p "$out"
{ "$warpmark" --version; nvidia-smi; "$warpmark" doctor; } > "$out/machine.txt"
"$warpmark" run --suite "$here/targets.yaml" --device cuda:0 --json "$work/results.json" > "$out/targets.txt" 2>&1
echo "targets: exit $?"
gzip -c "$work/results.json" > "$out/results.json.gz"
for script in compare_pytorch_gemm.py "compare_pytorch.py attention conv2d" compare_pytorch_vision.py; do
  # shellcheck disable=SC2086 # the words of a script's line are its arguments
  (cd "$here" && python3 -W ignore $script)
done > "$out/pytorch.txt" 2>&1
"$warpmark" run --suite quick --device all > "$out/quick.txt" 2>&1
echo "quick: exit $?"
"$warpmark" report last --format html --output "$out/quick.html"
cat "$out/pytorch.txt" "$out/targets.txt"
