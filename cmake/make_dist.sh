#!/usr/bin/env bash
# make_dist.sh BUILD_FOLDER: installs the build into dist/, adds the shared libraries it needs, checks that the result runs
# from where it lies, and packs it as dist/warpmark-<version>-linux-x86_64.tar.zst.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly kBuild=$1
readonly kNewestGlibc=2.36       # Debian 12
readonly kNewestGlibcxx=3.4.30   # libstdc++ of GCC 12
readonly kLargestBytes=$((60 * 1024 * 1024))
# Part of every system: the loader and glibc, and libstdc++, of which a newer plug-in needs the system's newer one.
readonly kFromTheSystem='^(linux-vdso|ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s)\.so'

main() {
  local version name root
  version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$kBuild/CMakeCache.txt")
  name=warpmark-$version-linux-x86_64
  root=dist/$name
  rm -rf "$root" "$root.tar.zst"
  cmake --install "$kBuild" --prefix "$PWD/$root" --strip >"$kBuild/install.log"
  bundle_libraries "$root"
  add_notices "$root"
  check_symbol_versions "$root"
  check_it_runs "$root"
  pack "$name"
}

# Name and file of every shared library that the executable and the modules load.
needed_libraries() {
  ldd "$1"/bin/warpmark "$1"/lib/warpmark/*.so 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u
}

bundle_libraries() {
  local root=$1 library file
  while read -r library file; do
    if [[ ! $library =~ $kFromTheSystem && ! -e $root/lib/$library ]]; then
      install -D --mode=644 --strip --strip-program=strip "$file" "$root/lib/$library"
      printf '%s %s\n' "$library" "$(readlink -f "$file")"
    fi
  done < <(needed_libraries "$root") >"$kBuild/bundled.txt"
}

# The licenses of what was copied, as Debian keeps them.
add_notices() {
  local root=$1 library file package
  mkdir -p "$root/share/doc/warpmark/third-party"
  cp LICENSE "$root/"
  while read -r library file; do
    package=$(dpkg-query --search "$file" | sed 's/:.*//' | head -n 1)
    cp "/usr/share/doc/$package/copyright" "$root/share/doc/warpmark/third-party/$package.txt"
  done <"$kBuild/bundled.txt"
  header_only_notices "$root/share/doc/warpmark/third-party"
}

# Libraries of headers only, which are compiled in.
header_only_notices() {
  local package
  for package in nlohmann-json3-dev libcli11-dev libboost1.74-dev; do
    cp "/usr/share/doc/$package/copyright" "$1/$package.txt"
  done
}

check_symbol_versions() {
  local root=$1
  no_newer_than GLIBC "$kNewestGlibc" "$root"
  no_newer_than GLIBCXX "$kNewestGlibcxx" "$root"
}

no_newer_than() {
  local family=$1 limit=$2 root=$3 newest
  newest=$(find "$root" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec objdump --dynamic-syms {} + |
    grep -oP "\b${family}_\K[0-9.]+" | sort --version-sort --unique | tail -n 1)
  if [[ $(printf '%s\n' "$newest" "$limit" | sort --version-sort | tail -n 1) != "$limit" ]]; then
    fail "the distribution needs ${family}_$newest, newer than $limit"
  fi
  say "newest symbol version of $family: $newest"
}

# From another folder and with an empty environment, every library but the system's comes from the distribution.
check_it_runs() {
  local moved foreign
  moved=$(mktemp -d)
  cp -a "$1/." "$moved/"
  foreign=$(env -i ldd "$moved/bin/warpmark" | awk '$2 == "=>" {print $1, $3}' | grep -v " $moved/" |
    grep -vP "$kFromTheSystem" || true)
  env -i --chdir=/ HOME="$moved" "$moved/bin/warpmark" --version
  rm -rf "$moved"
  if [[ -n $foreign ]]; then fail "not taken from the distribution: $foreign"; fi
}

pack() {
  local name=$1 bytes
  tar --create --directory=dist --sort=name --owner=0 --group=0 --numeric-owner "$name" |
    zstd -19 --long=27 --threads=0 --quiet --force -o "dist/$name.tar.zst"
  bytes=$(stat --format=%s "dist/$name.tar.zst")
  say "dist/$name.tar.zst: $((bytes / 1024)) KiB"
  if ((bytes > kLargestBytes)); then fail "larger than $((kLargestBytes / 1024 / 1024)) MiB"; fi
}

say() { printf '==> %s\n' "$*" >&2; }

fail() {
  printf 'make_dist: %s\n' "$*" >&2
  exit 1
}

main
