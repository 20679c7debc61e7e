#!/usr/bin/env bash
# make_dist.sh BUILD_FOLDER: installs the build into dist/, adds the shared libraries it needs, checks that the result runs
# from where it lies, and packs it as dist/warpmark-<version>-linux-<processor>.tar.zst, with the Python package as a wheel,
# and as Debian packages.
#
# make_dist.sh --wheel BUILD_FOLDER OUT: only the wheel, without stripping, for the tests.
#
# make_dist.sh --check-symbols BUILD_FOLDER: only whether what would be packed asks for no newer C library than promised.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The oldest systems of GPU nodes that it shall run on: RHEL 9 and Rocky 9 have glibc 2.34 and the libstdc++ of GCC 11,
# Ubuntu 22.04 and DGX OS 6 glibc 2.35.
readonly kNewestGlibc=2.34
readonly kNewestGlibcxx=3.4.29
readonly kNewestCxxabi=1.3.13
readonly kNewestGcc=11.0
readonly kLargestBytes=$((60 * 1024 * 1024))
# Part of every system: the loader and glibc, and libstdc++, of which a newer plug-in needs the system's newer one.
readonly kFromTheSystem='^(linux-vdso|ld-linux-x86-64|ld-linux-aarch64|libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s)\.so'

main() {
  if [[ $1 == --check-symbols ]]; then
    take_build "$2"
    check_built_symbols
    return
  fi
  if [[ $1 == --wheel ]]; then
    take_build "$2"
    make_wheel_only "$3"
    return
  fi
  take_build "$1"
  local version name root
  version=$(version_of_build)
  name=warpmark-$version-linux-$kProcessor
  root=dist/$name
  rm -rf "$root" "$root.tar.zst"
  cmake --install "$kBuild" --prefix "$PWD/$root" --strip >"$kBuild/install.log"
  bundle_libraries "$root"
  add_notices "$root"
  find "$root" -type f \( -name '*.so*' -o -path '*/bin/*' \) | check_symbol_versions
  check_it_runs "$root"
  python3 -B cmake/make_sbom.py "$root" "$name" "$version" "$kBuild/bundled.txt" "$(time_of_sources)" "dist/$name.spdx.json"
  say "dist/$name.spdx.json"
  pack "$name"
  rm -f dist/*"_$kProcessor.whl"
  say "$(python3 -B cmake/make_wheel.py "$root" "$version" dist)"
  if command -v dpkg-shlibdeps >/dev/null; then
    cmake/make_deb.sh "$PWD/$root" "$version" "$PWD/dist" "$kProcessor"
    say "$(echo dist/*.deb)"
  else
    say "no Debian packages: dpkg-shlibdeps of dpkg-dev is not installed"
  fi
}

# The tools that the build was made with, which are others where it was cross-compiled; what it made then runs under qemu-user.
take_build() {
  kBuild=$1
  kStrip=$(cached CMAKE_STRIP)
  kObjdump=$(cached CMAKE_OBJDUMP)
  kLibdw=$(cached LIBDW_LIBRARY)
  kOpenBlas=$(cached OPENBLAS_LIBRARY)
  if [[ ! -e $kLibdw ]]; then
    fail "$kBuild was made without libdw ('$kLibdw'), which names source lines: install libdw-dev, run CMake again"
  fi
  kProcessor=$(LC_ALL=C "$kObjdump" --file-headers "$kBuild/warpmark" | sed -n 's/^architecture: \([^,]*\).*/\1/p')
  case $kProcessor in
    i386:x86-64) kProcessor=x86_64 ;;
  esac
  kRunner=()
  kLister=(ldd)
  if [[ $kProcessor != "$(uname -m)" ]]; then
    kRunner=("qemu-$kProcessor-static")
    kLister=("${kRunner[@]}" "/lib/ld-linux-$kProcessor.so.1" --list)
  fi
}

cached() { sed -n "s/^$1:FILEPATH=//p" "$kBuild/CMakeCache.txt"; }

version_of_build() { sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$kBuild/CMakeCache.txt"; }

# What the tests install: the same but for the symbols and the licenses.
make_wheel_only() {
  local out=$1 root
  root=$(mktemp -d)
  cmake --install "$kBuild" --prefix "$root" >/dev/null
  bundle_libraries "$root" "$out/bundled.txt"
  python3 -B cmake/make_wheel.py "$root" "$(version_of_build)" "$out" 1  # packed fast
  rm -rf "$root"
}

# needed_libraries PLACE...: name and file of every shared library that the executable and the modules there load, at
# its start or, as libdw and OpenBLAS, at run time; not of the MPI module, whose MPI is the cluster's own.
needed_libraries() {
  printf 'libdw.so.1 %s\n' "$(readlink -f "$kLibdw")"
  printf 'libopenblas.so.0 %s\n' "$(readlink -f "$kOpenBlas")"
  {
    "${kLister[@]}" "$kLibdw"
    "${kLister[@]}" "$(readlink -f "$kOpenBlas")"
    find "$@" \( -name warpmark -o -name '*.so' \) ! -type d ! -name libwarpmark_mpi.so \
      -exec "${kLister[@]}" {} \; 2>/dev/null
  } | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}'
}

# bundle_libraries ROOT [LIST]
bundle_libraries() {
  local root=$1 list=${2:-$kBuild/bundled.txt} library file
  while read -r library file; do
    if [[ ! $library =~ $kFromTheSystem && ! -e $root/lib/$library ]]; then
      install -D --mode=644 --strip --strip-program="$kStrip" "$file" "$root/lib/$library"
      printf '%s %s\n' "$library" "$(readlink -f "$file")"
    fi
  done < <(needed_libraries "$root/bin/warpmark" "$root/lib/warpmark") >"$list"
}

# The licenses of what was copied, as Debian keeps them.
add_notices() {
  local root=$1 library file package
  mkdir -p "$root/share/doc/warpmark/third-party"
  cp LICENSE "$root/"
  while read -r library file; do
    # A file of /usr/lib may be known by its name from before /lib became a link to it.
    package=$({ dpkg-query --search "$file" 2>/dev/null || dpkg-query --search "${file#/usr}"; } | sed 's/:.*//' | head -n 1)
    cp "/usr/share/doc/$package/copyright" "$root/share/doc/warpmark/third-party/$package.txt"
  done <"$kBuild/bundled.txt"
  header_only_notices "$root/share/doc/warpmark/third-party"
}

# Libraries of headers only, which are compiled in, and the dashboard's charts, which are embedded.
header_only_notices() {
  local package
  for package in nlohmann-json3-dev libcli11-dev libjs-chart.js "$(dpkg-query --search /usr/include/boost/version.hpp | sed 's/:.*//')"; do
    cp "/usr/share/doc/$package/copyright" "$1/$package.txt"
  done
}

check_symbol_versions() {
  local file
  while IFS= read -r file; do
    no_newer_than GLIBC "$kNewestGlibc" "$file"
    no_newer_than GLIBCXX "$kNewestGlibcxx" "$file"
    no_newer_than CXXABI "$kNewestCxxabi" "$file"
    no_newer_than GCC "$kNewestGcc" "$file"
  done
}

no_newer_than() {
  local family=$1 limit=$2 file=$3 newest
  newest=$("$kObjdump" --dynamic-syms "$file" | { grep -F '*UND*' || true; } |
    { grep -oP "\b${family}_\K[0-9.]+" || true; } | sort --version-sort --unique | tail -n 1)
  if [[ -n $newest && $(printf '%s\n' "$newest" "$limit" | sort --version-sort | tail -n 1) != "$limit" ]]; then
    fail "$(basename "$file") asks for ${family}_$newest, newer than $limit (make it on Debian 12):
$("$kObjdump" --dynamic-syms "$file" | grep -F "${family}_$newest")"
  fi
}

# The executable and the modules as they were built, and the libraries of this system that would be packed with them.
check_built_symbols() {
  local built
  mapfile -t built < <(find "$kBuild" -maxdepth 1 \( -name warpmark -o -name 'libwarpmark*.so' \) ! -type d)
  {
    printf '%s\n' "${built[@]}"
    needed_libraries "${built[@]}" | grep -vP "$kFromTheSystem" | awk '{print $2}' | sort -u
  } | check_symbol_versions
}

# From another folder and with an empty environment, every library but the system's comes from the distribution. libdw
# and OpenBLAS are loaded at run time by the executable, whose folder of libraries then serves them, too; alone they are
# told of it.
check_it_runs() {
  local moved foreign library
  for library in libdw.so.1 libopenblas.so.0; do
    if [[ ! -e $1/lib/$library ]]; then fail "$library is not in the distribution"; fi
  done
  moved=$(mktemp -d)
  cp -a "$1/." "$moved/"
  foreign=$({
    env -i "${kLister[@]}" "$moved/bin/warpmark"
    env -i LD_LIBRARY_PATH="$moved/lib" "${kLister[@]}" "$moved/lib/libdw.so.1"
    env -i LD_LIBRARY_PATH="$moved/lib" "${kLister[@]}" "$moved/lib/libopenblas.so.0"
  } | awk '$2 == "=>" {print $1, $3}' | grep -v " $moved/" | grep -vP "$kFromTheSystem" | sort -u || true)
  env -i --chdir=/ HOME="$moved" "${kRunner[@]}" "$moved/bin/warpmark" --version
  rm -rf "$moved"
  if [[ -n $foreign ]]; then fail "not taken from the distribution: $foreign"; fi
}

pack() {
  local name=$1 bytes
  # Times and order are fixed, so that the same sources give the same bytes.
  tar --create --directory=dist --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$(time_of_sources)" "$name" |
    zstd -19 --long=27 --threads=0 --quiet --force -o "dist/$name.tar.zst"
  bytes=$(stat --format=%s "dist/$name.tar.zst")
  say "dist/$name.tar.zst: $((bytes / 1024)) KiB"
  if ((bytes > kLargestBytes)); then fail "larger than $((kLargestBytes / 1024 / 1024)) MiB"; fi
}

# That of the commit, or as reproducible-builds.org has it.
time_of_sources() { printf '%s\n' "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"; }

say() { printf '==> %s\n' "$*" >&2; }

fail() {
  printf 'make_dist: %s\n' "$*" >&2
  exit 1
}

main "$@"
