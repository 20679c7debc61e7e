#!/usr/bin/env bash
# make_deb.sh DIST_FOLDER VERSION OUT PROCESSOR: the relocatable build of ./dev dist as Debian packages, by CPack.
#
# warpmark brings its libraries, as the tarball does, so that one package serves Debian 12 and all that is younger: it asks for the
# C and C++ library alone (by dpkg-shlibdeps). It lies in /usr/lib/warpmark, with the command in /usr/bin, manual pages and
# completions where the system looks for them, and the C++ interface where CMake looks. warpmark-mpi has the module that needs
# the system's Open MPI.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly kMaintainer='The warpmark developers <warpmark@example.org>'

main() {
  local dist=$1 version=$2 out=$3 work
  kVersion=$version
  kArchitecture=$(dpkg-architecture --host-type "$4-linux-gnu" --query DEB_HOST_ARCH)
  work=$(mktemp -d)
  # shellcheck disable=SC2064  # the folder of now
  trap "rm -rf '$work'" EXIT
  lay_out_product "$dist" "$work/warpmark"
  lay_out_mpi "$dist" "$work/warpmark-mpi"
  rm -f "$out"/*"_$kArchitecture.deb"
  pack "$work" "$version" "$out" warpmark
  if [[ -d $work/warpmark-mpi ]]; then pack "$work" "$version" "$out" warpmark-mpi; fi
}

lay_out_product() {
  local dist=$1 root=$2 usr=$2/usr home=$2/usr/lib/warpmark
  mkdir -p "$usr/bin" "$home" "$usr/share/doc/warpmark"
  cp -a "$dist/bin" "$dist/lib" "$dist/include" "$home/"
  mkdir -p "$home/share"
  cp -a "$dist/share/warpmark" "$home/share/"
  rm -f "$home/lib/warpmark/libwarpmark_mpi.so"
  ln -s ../lib/warpmark/bin/warpmark "$usr/bin/warpmark"
  # find_package(warpmark) looks into lib/warpmark*/cmake.
  mkdir "$home/cmake"
  local file
  for file in warpmarkConfig.cmake warpmarkConfigVersion.cmake; do
    printf 'include("%s/../lib/cmake/warpmark/%s")\n' "\${CMAKE_CURRENT_LIST_DIR}" "$file" >"$home/cmake/$file"
  done
  mkdir -p "$usr/share/pkgconfig"
  sed 's|^prefix=.*|prefix=/usr/lib/warpmark|' "$dist/lib/pkgconfig/warpmark.pc" >"$usr/share/pkgconfig/warpmark.pc"
  install -D --mode=644 "$dist/share/bash-completion/completions/warpmark" "$usr/share/bash-completion/completions/warpmark"
  install -D --mode=644 "$dist/share/zsh/site-functions/_warpmark" "$usr/share/zsh/vendor-completions/_warpmark"
  install -D --mode=644 "$dist/share/fish/vendor_completions.d/warpmark.fish" \
    "$usr/share/fish/vendor_completions.d/warpmark.fish"
  mkdir -p "$usr/share/man/man1"
  cp "$dist"/share/man/man1/*.1 "$usr/share/man/man1/"
  gzip --best --no-name "$usr"/share/man/man1/*.1
  cp -a "$dist/share/doc/warpmark/." "$usr/share/doc/warpmark/"
  changelog warpmark "$usr/share/doc/warpmark"
  copyright >"$usr/share/doc/warpmark/copyright"
  # They come along on purpose, so that one package serves all systems.
  mkdir -p "$usr/share/lintian/overrides"
  printf 'warpmark: embedded-library *\n' >"$usr/share/lintian/overrides/warpmark"
  chmod -R u=rwX,go=rX "$root"
}

lay_out_mpi() {
  local dist=$1 root=$2 module=lib/warpmark/libwarpmark_mpi.so
  if [[ ! -f $dist/$module ]]; then return; fi
  install -D --mode=644 "$dist/$module" "$root/usr/lib/warpmark/$module"
  mkdir -p "$root/usr/share/doc/warpmark-mpi"
  changelog warpmark-mpi "$root/usr/share/doc/warpmark-mpi"
  copyright >"$root/usr/share/doc/warpmark-mpi/copyright"
}

# changelog PACKAGE FOLDER: in Debian's form.
changelog() {
  local date
  date=$(LC_ALL=C date --utc --rfc-email --date="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}")
  printf '%s (%s) stable; urgency=medium\n\n  * /usr/share/doc/warpmark/CHANGELOG.md says what is new.\n\n -- %s  %s\n' \
    "$1" "$kVersion" "$kMaintainer" "$date" | gzip --best --no-name >"$2/changelog.gz"
}

copyright() {
  printf 'warpmark is under the Apache License 2.0 (/usr/share/common-licenses/Apache-2.0).\n'
  printf 'Licenses of the libraries that it brings: /usr/share/doc/warpmark/third-party\n'
}

# What dpkg-shlibdeps finds for all programs and libraries in a folder, without the packages whose libraries we bring: those would
# be of Debian 12 alone.
dependencies() {
  local work=$1 root=$2 library package files
  local excluded=(-xlibopenblas0)  # Debian's name for any of its builds
  for library in "$work"/warpmark/usr/lib/warpmark/lib/*.so.*; do
    if [[ $library == */libwarpmark.so* ]]; then continue; fi
    while read -r package; do excluded+=("-x$package"); done < <(
      dpkg-query --search "*/$(basename "$library")" 2>/dev/null | sed 's/[:,].*//' | sort -u)
  done
  mkdir -p "$work/debian" "$root/DEBIAN"  # where dpkg-shlibdeps looks for the root of a package
  printf 'Source: warpmark\n\nPackage: warpmark\nArchitecture: any\n' >"$work/debian/control"
  mapfile -t files < <(find "$root" -type f \( -name '*.so*' -o -path '*/bin/*' \))
  (cd "$work" && DEB_HOST_ARCH=$kArchitecture dpkg-shlibdeps -O --ignore-missing-info \
    "-l$work/warpmark/usr/lib/warpmark/lib" "${excluded[@]}" "${files[@]}" 2>"$work/shlibdeps.log") >"$work/shlibdeps" || {
    cat "$work/shlibdeps.log" >&2
    return 1
  }
  rmdir "$root/DEBIAN"
  sed -n 's/^shlibs:Depends=//p' "$work/shlibdeps"
}

pack() {
  local work=$1 version=$2 out=$3 name=$4
  DEPENDS=$(dependencies "$work" "$work/$name") PACKAGE=$name ROOT=$work/$name VERSION=$version ARCHITECTURE=$kArchitecture \
    MAINTAINER=$kMaintainer \
    cpack --config cmake/cpack_deb.cmake -B "$work/made" >"$work/cpack.log" 2>&1 || {
    cat "$work/cpack.log" >&2
    return 1
  }
  mv "$work"/made/*.deb "$out/"
}

main "$@"
