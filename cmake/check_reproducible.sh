#!/usr/bin/env bash
# check_reproducible.sh [FOLDER]: builds the distribution of the last commit twice, from nothing and in two folders of different
# names, and compares the tarballs byte by byte. FOLDER (default: the one for temporary files) needs 3 GB. Takes twice as long as
# ./dev dist. The compiler's cache is not used: it would make the second build a copy of the first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

main() {
  local first second
  place=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/warpmark-twice-XXXXXX")
  # shellcheck disable=SC2064  # the folder of now
  trap "rm -rf '$place'" EXIT
  first=$(tarball_of "$place/one")
  second=$(tarball_of "$place/another folder")
  sha256sum "$first" "$second"
  if cmp "$first" "$second"; then
    printf 'The two builds are the same, byte for byte.\n'
    return
  fi
  which_files "$first" "$second"
  exit 1
}

tarball_of() {
  git clone --quiet . "$1"
  (
    cd "$1"
    export CCACHE_DISABLE=1
    cmake --preset release -DWARPMARK_TESTS=OFF
    cmake --build build/release --target warpmark_product
    cmake/make_dist.sh build/release
  ) >&2
  echo "$1"/dist/*.tar.zst
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
