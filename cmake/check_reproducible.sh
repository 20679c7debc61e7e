#!/usr/bin/env bash
# check_reproducible.sh [FOLDER]: builds the distribution of the last commit twice, each time from nothing, and compares the
# tarballs byte by byte. FOLDER (default: the one for temporary files) needs 3 GB. Takes twice as long as ./dev dist. The
# compiler's cache is not used: it would make the second build a copy of the first. Both are built at the same path, as the
# tables of source lines of CUDA kernels name it; nothing else does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

main() {
  local first second
  place=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/warpmark-twice-XXXXXX")
  # shellcheck disable=SC2064  # the folder of now
  trap "rm -rf '$place'" EXIT
  first=$(tarball_of one)
  second=$(tarball_of two)
  sha256sum "$first" "$second"
  if cmp "$first" "$second"; then
    printf 'The two builds are the same, byte for byte.\n'
    return
  fi
  which_files "$first" "$second"
  exit 1
}

# tarball_of NAME: moves it to NAME.tar.zst
tarball_of() {
  local sources=$place/warpmark
  git clone --quiet . "$sources"
  (
    cd "$sources"
    export CCACHE_DISABLE=1
    cmake --preset release -DWARPMARK_TESTS=OFF -DWARPMARK_RELEASE=ON
    cmake --build build/release --target warpmark_product
    cmake/make_dist.sh build/release
  ) >&2
  mv "$sources"/dist/*.tar.zst "$place/$1.tar.zst"
  rm -rf "$sources"
  echo "$place/$1.tar.zst"
}

# What differs: of another size, time or content.
which_files() {
  local at one=$place/contents-1 two=$place/contents-2
  mkdir "$one" "$two"
  tar --extract --zstd --directory="$one" --file="$1"
  tar --extract --zstd --directory="$two" --file="$2"
  diff --recursive --brief "$one" "$two" || true
  at=$(diff <(tar --list --verbose --zstd --file="$1") <(tar --list --verbose --zstd --file="$2") || true)
  printf '%s\n' "$at"
}

main "$@"
