#!/bin/sh
# Runs module_bench over the shapes that compare_pytorch.py times. Usage: module_cases.sh MODULE_BENCH LIBRARY [what...]
# shellcheck disable=SC2086  # shapes are lists of words that are meant to fall apart
bench=$1
library=$2
shift 2
what=${*:-attention conv2d passes}
set --
add_attention() {  # impl dtype seq dim causal
  set -- attention impl="$1" dtype="$2" batch=8 heads=16 seq="$3" dim="$4" causal="$5"
  cases="$cases -- $*"
}
add_conv2d() {  # dtype layout pass "n c h w k r"
  dtype=$1 layout=$2 pass=$3
  set -- $4
  cases="$cases -- conv2d dtype=$dtype layout=$layout pass=$pass n=$1 c=$2 h=$3 w=$4 k=$5 r=$6 stride=1 pad=-1"
}
cases=
for w in $what; do
  case $w in
    attention)
      for shape in "4096 64 no" "2048 64 no" "1024 64 no" "512 64 no" "4096 64 yes" "1024 64 yes" "4096 128 no" \
                   "4096 128 yes"; do
        for impl in cudnn flash; do add_attention $impl f16 $shape; done
      done
      add_attention cudnn bf16 4096 64 no
      add_attention flash bf16 4096 64 no
      add_attention standard f16 4096 64 no
      add_attention standard f16 1024 64 no
      add_attention standard f16 1024 64 yes
      add_attention standard bf16 1000 64 yes
      add_attention standard f32 1024 64 no
      add_attention flash f32 1024 64 no
      ;;
    conv2d)
      for kind in "f32 nchw" "tf32 nchw" "f32 nhwc" "tf32 nhwc" "bf16 nhwc" "f16 nhwc" "bf16 nchw"; do
        for shape in "64 64 56 56 64 3" "64 256 56 56 64 1" "64 128 28 28 128 3" "64 512 28 28 128 1"; do
          add_conv2d $kind forward "$shape"
        done
      done
      ;;
    passes)
      for kind in "f32 nchw" "bf16 nhwc" "f16 nhwc" "tf32 nhwc"; do
        for pass in backward_data backward_weights; do add_conv2d $kind $pass "64 64 56 56 64 3"; done
      done
      ;;
  esac
done
exec $bench $library ${cases# -- }
