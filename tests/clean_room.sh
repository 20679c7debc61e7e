#!/usr/bin/env bash
# Proves in a minimal Debian 12 what the README promises: `./dev run` and `./dev test` on a fresh clone, and the
# distribution on a system that has none of its packages. No part of `./dev test`: needs root, debootstrap, the network
# and some 4 GB.
#
#   tests/clean_room.sh [--working-tree] [source] [dist [TARBALL]]
#
# source   clones HEAD (with --working-tree: copies the files as they are now) and runs both commands, then ./dev dist
# dist     runs the TARBALL, or the one that `source` made, in a second root
# Without either, both are done. The roots are kept under WARPMARK_CLEAN_ROOM (/var/tmp/warpmark-clean-room).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly kRooms=${WARPMARK_CLEAN_ROOM:-/var/tmp/warpmark-clean-room}
readonly kMirror=${WARPMARK_DEBIAN_MIRROR:-http://deb.debian.org/debian}

main() {
  local working_tree=false
  if [[ $EUID -ne 0 ]]; then fail "chroot needs root"; fi
  if [[ ${1:-} == --working-tree ]]; then
    working_tree=true
    shift
  fi
  make_pristine_root
  case ${1:-all} in
    source) prove_source $working_tree ;;
    dist) prove_dist "${2:-$(made_tarball)}" ;;
    all)
      prove_source $working_tree
      prove_dist "$(made_tarball)"
      ;;
    *) fail "unknown step '$1'" ;;
  esac
}

prove_source() {
  local room=$kRooms/source
  fresh_room source
  if [[ $1 == true ]]; then copy_working_tree "$room/warpmark"; else git clone --quiet . "$room/warpmark"; fi
  say "./dev run on a fresh clone"
  inside "$room" 'cd /warpmark && time ./dev run --json /tmp/quick.json && test -s /tmp/quick.json'
  say "./dev test"
  inside "$room" 'cd /warpmark && time ./dev test'
  say "./dev run again, without a network"
  inside "$room" 'cd /warpmark && time ./dev run --no-store' --net
  say "./dev dist"
  inside "$room" 'cd /warpmark && time ./dev dist'
}

prove_dist() {
  local tarball=$1
  fresh_room dist
  mkdir "$kRooms/dist/opt/warpmark"
  tar --extract --use-compress-program='zstd -d --long=27' --file "$tarball" --strip-components=1 \
    --directory "$kRooms/dist/opt/warpmark"
  say "$(basename "$tarball") on a system without packages"
  inside "$kRooms/dist" '/opt/warpmark/bin/warpmark --version && /opt/warpmark/bin/warpmark doctor &&
    /opt/warpmark/bin/warpmark run --suite quick --json /tmp/quick.json && test -s /tmp/quick.json'
}

made_tarball() { find "$kRooms/source/warpmark/dist" -name '*.tar.zst' | head -n 1; }

# --- rooms -----------------------------------------------------------------------------------------------------------

make_pristine_root() {
  if [[ -f $kRooms/pristine.tar ]]; then return; fi
  say "making a minimal Debian 12"
  mkdir -p "$kRooms"
  rm -rf "$kRooms/pristine"
  debootstrap --variant=minbase bookworm "$kRooms/pristine" "$kMirror" >"$kRooms/debootstrap.log"
  tar --create --file "$kRooms/pristine.tar.part" --directory "$kRooms/pristine" .
  mv "$kRooms/pristine.tar.part" "$kRooms/pristine.tar"
  rm -rf "$kRooms/pristine"
}

# An unpacked root that reaches the network as this machine does.
fresh_room() {
  local room=$kRooms/$1
  rm -rf "$room"
  mkdir "$room"
  tar --extract --file "$kRooms/pristine.tar" --directory "$room"
  cp /etc/resolv.conf /etc/hosts "$room/etc/"
  local setting
  for setting in /etc/apt/apt.conf.d/*; do
    if grep -q '^Acquire' "$setting"; then cp "$setting" "$room/etc/apt/apt.conf.d/"; fi
  done
}

copy_working_tree() {
  mkdir "$1"
  git ls-files --cached --others --exclude-standard -z |
    while IFS= read -r -d '' file; do if [[ -e $file ]]; then printf '%s\0' "$file"; fi; done |
    tar --create --null --files-from=- | tar --extract --directory "$1"
}

# Runs a command in a root with its own mounts, which end with it; more arguments, as --net, take more away. Nothing of this
# shell's environment but a proxy gets in.
inside() {
  local room=$1 command=$2
  shift 2
  # shellcheck disable=SC2016  # $1 and $2 are those of the inner shell
  unshare --mount "$@" --fork bash -euo pipefail -c '
    mount -t proc proc "$1/proc"
    mount --rbind /sys "$1/sys"
    mount --rbind /dev "$1/dev"
    exec env --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
      ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
      chroot "$1" bash -euo pipefail -c "$2"' inside "$room" "$command" </dev/null
}

say() { printf '\n==> %s\n' "$*" >&2; }

fail() {
  printf 'clean_room: %s\n' "$*" >&2
  exit 1
}

main "$@"
