#!/bin/sh
# Does the corpus work here? Compiles all CUDA programs and runs one program of each framework, before and after its
# cure, on this machine's first GPU. Takes under 5 minutes; a framework that is missing fails alone. A table comes last.
#
#   corpus/smoke.sh [OUT] [WARPMARK]     with WARPMARK (the program) it also records them, else it only times them
#   GPUS=2 corpus/smoke.sh ...           also one program on two GPUs
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$(mktemp -d)}
warpmark=${2:-}
mkdir -p "$out"
WARPMARK_CORPUS_BUILD=${WARPMARK_CORPUS_BUILD:-$out/build}
export WARPMARK_CORPUS_BUILD

python3 "$here/record.py" --check || exit 1
python3 "$here/record.py" --compile --jobs "$(nproc)"

record() {
  if [ -n "$warpmark" ]; then set -- "$@" --warpmark "$warpmark"; else set -- "$@" --time-only; fi
  timeout 180 python3 "$here/record.py" --out "$out" --rounds 1 --seconds 1 --record 6 --limit 100 --blocks 4 "$@"
}
record --devices 0 --per-gpu 1 vit_activation_chain raw_pictures_developed music_mel_features american_puts edge_frames
[ "${GPUS:-1}" -lt 2 ] || record --devices 0,1 ddp_selecsls_sync_batchnorm

python3 "$here/record.py" --table --out "$out"
