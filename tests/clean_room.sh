#!/usr/bin/env bash
# Proves in a minimal Debian what the README promises: `./dev run` and `./dev test` on a fresh clone, and the distribution
# on a system that has none of its packages. No part of `./dev test`: needs root, mmdebstrap, the network and some 4 GB.
#
#   tests/clean_room.sh [--suite SUITE] [--plain-user] [--working-tree] [source] [dist [TARBALL]] [deb [PACKAGE]] [aarch64]
#
# source   clones HEAD (with --working-tree: copies the files as they are now) and runs both commands, in bookworm also
#          ./dev dist
# dist     runs the TARBALL, or the one that `source` made in bookworm, in a second root
# deb      installs the PACKAGE, or the one that `source` made in bookworm, in a root of its own, runs it, and removes it again
# aarch64  compiles for 64-bit Arm with Debian's cross compiler, makes the tarball, the wheel and the packages of it, and runs
#          the tests of what computes without a device under qemu-user
# Without any, all but aarch64 are done. SUITE is bookworm (Debian 12, default), trixie (Debian 13), jammy (Ubuntu 22.04) or noble
# (Ubuntu 24.04); roots of Ubuntu need the package ubuntu-keyring. With --plain-user
# root only installs the packages; all else is done by a user whose folder has a space in its name. The roots are kept
# under WARPMARK_CLEAN_ROOM (/var/tmp/warpmark-clean-room).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly kUbuntuKeys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
suite=bookworm
plain_user=false
working_tree=false

main() {
  local steps=()
  if [[ $EUID -ne 0 ]]; then fail "chroot needs root"; fi
  while [[ $# -gt 0 ]]; do
    case $1 in
      --suite)
        suite=${2:-}
        shift
        ;;
      --plain-user) plain_user=true ;;
      --working-tree) working_tree=true ;;
      source | aarch64) steps+=("$1") ;;
      deb)
        steps+=(deb)
        if [[ ${2:-} == *.deb ]]; then
          package=$2
          shift
        fi
        ;;
      dist)
        steps+=(dist)
        if [[ ${2:-} == *.tar.zst ]]; then
          tarball=$2
          shift
        fi
        ;;
      *) fail "unknown argument '$1'" ;;
    esac
    shift
  done
  case $suite in
    bookworm | trixie | jammy | noble) ;;
    *) fail "--suite is bookworm, trixie, jammy or noble, not '$suite'" ;;
  esac
  rooms=${WARPMARK_CLEAN_ROOM:-/var/tmp/warpmark-clean-room}/$suite
  make_pristine_root
  if [[ ${#steps[@]} -eq 0 ]]; then
    steps=(source dist deb)
  fi
  local step
  for step in "${steps[@]}"; do "prove_$step"; done
}

prove_source() {
  fresh_room source
  if [[ $plain_user == true ]]; then prepare_plain_user; else put_sources "$rooms/source/warpmark"; fi
  say "./dev run on a fresh clone"
  as_newcomer 'time ./dev run --json /tmp/quick.json && test -s /tmp/quick.json'
  say "./dev test all"
  as_newcomer 'time ./dev test all'
  say "./dev run again, without a network"
  as_newcomer 'time ./dev run --no-store' --net
  if [[ $suite == bookworm ]]; then  # the libraries of newer systems ask for a newer C library than the distribution promises
    say "./dev dist"
    as_newcomer 'time ./dev dist'
  fi
  # shellcheck disable=SC2016  # for the inner shell
  say "proven in $suite: $(inside "$rooms/source" '. /etc/os-release; echo "$PRETTY_NAME, $(g++ --version | head -n 1)"')"
}

# Runs a command in the clone, as root or as the user whose folder has a space in its name.
as_newcomer() {
  local command=$1
  shift
  if [[ $plain_user == true ]]; then
    inside "$rooms/source" "setpriv --reuid=1234 --regid=1234 --clear-groups env HOME='/home/plain user' \
      bash -euo pipefail -c 'cd \"/home/plain user/warp mark\" && $command'" "$@"
  else
    inside "$rooms/source" "cd /warpmark && $command" "$@"
  fi
}

prepare_plain_user() {
  local room=$rooms/source
  mkdir -p "$room/home/plain user"
  put_sources "$room/home/plain user/warp mark"
  chown -R 1234:1234 "$room/home/plain user"
  inside "$room" 'echo "plain:x:1234:1234::/home/plain user:/bin/bash" >>/etc/passwd && apt-get -qq update &&
    sed -n "s/^\(build\|test\|dist\)  *\([^ ]*\).*/\2/p" "/home/plain user/warp mark/packages.txt" |
    DEBIAN_FRONTEND=noninteractive xargs apt-get install -qq --yes --no-install-recommends -o Dpkg::Use-Pty=0 >/tmp/apt.log'
}

put_sources() {
  if [[ $working_tree == true ]]; then copy_working_tree "$1"; else git clone --quiet . "$1"; fi
}

prove_dist() {
  local packed=${tarball:-$(made_tarball)}
  fresh_room dist
  mkdir "$rooms/dist/opt/warpmark"
  tar --extract --use-compress-program='zstd -d --long=27' --file "$packed" --strip-components=1 \
    --directory "$rooms/dist/opt/warpmark"
  say "$(basename "$packed") on $suite without packages"
  inside "$rooms/dist" '/opt/warpmark/bin/warpmark --version && /opt/warpmark/bin/warpmark doctor &&
    /opt/warpmark/bin/warpmark run --suite quick --json /tmp/quick.json && test -s /tmp/quick.json'
}

prove_deb() {
  local packed=${package:-$(find "${rooms%/*}/bookworm/source" -path '*/dist/warpmark_*.deb' | head -n 1)}
  fresh_room deb
  cp "$packed" "$rooms/deb/tmp/warpmark.deb"
  say "$(basename "$packed") on $suite: install, run, remove"
  # shellcheck disable=SC2016  # for the inner shell
  inside "$rooms/deb" 'export DEBIAN_FRONTEND=noninteractive
    listed() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /var/cache -o -path /var/log -o -path /tmp \
      -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /root \) -prune -o -print | sort; }
    apt-get -qq update
    listed >/tmp/before
    apt-get install -qq --yes --no-install-recommends -o Dpkg::Use-Pty=0 /tmp/warpmark.deb >/tmp/apt.log
    warpmark --version
    warpmark doctor >/dev/null
    warpmark run copy --device cpu --rounds 1 --budget 5s --json /tmp/quick.json >/dev/null && test -s /tmp/quick.json
    warpmark report /tmp/quick.json >/tmp/report.txt
    head -n 3 /tmp/report.txt
    dpkg --listfiles warpmark >/tmp/files  # files, as a reader that has seen enough ends what writes into its pipe
    printf "%s\n" "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}" | warpmark mcp | grep -qF "\"result\":{}"
    for file in man/man1/warpmark.1.gz man/man1/warpmark-run.1.gz bash-completion/completions/warpmark \
      zsh/vendor-completions/_warpmark fish/vendor_completions.d/warpmark.fish doc/warpmark/copyright; do
      case $file in *.gz | doc/*) ;; *) test -s /usr/share/$file; continue ;; esac
      grep -qxF "/usr/share/$file" /tmp/files  # minimal roots of Ubuntu leave man pages and documents out
    done
    dpkg --audit
    apt-get purge -qq --yes --autoremove -o Dpkg::Use-Pty=0 warpmark >>/tmp/apt.log
    listed >/tmp/after
    diff <(grep warpmark /tmp/before || true) <(grep warpmark /tmp/after || true)
    if [[ -e /usr/bin/warpmark || -e /usr/lib/warpmark ]]; then exit 1; fi'
}

made_tarball() { find "${rooms%/*}/bookworm/source" -path '*/dist/*.tar.zst' | head -n 1; }

# What is measured under an emulator means nothing; what is computed must be right.
prove_aarch64() {
  fresh_room aarch64
  put_sources "$rooms/aarch64/warpmark"
  say "64-bit Arm: packages"
  inside "$rooms/aarch64" 'dpkg --add-architecture arm64 && apt-get -qq update
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -qq --yes --no-install-recommends -o Dpkg::Use-Pty=0 crossbuild-essential-arm64 qemu-user-static \
      cmake ninja-build git python3 esbuild libjs-chart.js zstd dpkg-dev >/tmp/apt.log
    # Not PyTorch, which no test here needs and which brings hundreds of packages.
    sed -n "s/^\(build\|test\)  *\(lib[^ ]*\|nlohmann[^ ]*\).*/\2:arm64/p" /warpmark/packages.txt |
      grep -v -e valijson -e libjs |
      xargs apt-get install -qq --yes --no-install-recommends -o Dpkg::Use-Pty=0 libgomp1:arm64 >>/tmp/apt.log
    # Headers alone, but what its package depends on is wanted for one architecture at a time.
    cd /tmp && apt-get -qq download libvalijson-dev && dpkg -x libvalijson-dev_*.deb /'
  say "64-bit Arm: build"
  inside "$rooms/aarch64" 'cd /warpmark && time cmake --preset aarch64 >/tmp/configure.log && time cmake --build build/aarch64'
  say "64-bit Arm: ./dev dist aarch64"
  inside "$rooms/aarch64" 'cd /warpmark && time ./dev dist aarch64'
  say "64-bit Arm: tests"
  inside "$rooms/aarch64" "cd /warpmark && time ctest --test-dir build/aarch64 --output-on-failure --parallel $(nproc) \
    -R '^(base|model|stats|profile|analyze|validate|report|accuracy)\\.'"
}

# --- rooms -----------------------------------------------------------------------------------------------------------

make_pristine_root() {
  if [[ -f $rooms/pristine.tar ]]; then return; fi
  say "making a minimal $suite"
  mkdir -p "$rooms"
  local options=() setting
  while read -r setting; do options+=("--aptopt=$setting"); done < <(cat /etc/apt/apt.conf.d/* | grep '^Acquire::Check' || true)
  if is_ubuntu; then
    options+=(--include=apt "--components=main,universe")
    if [[ -f $kUbuntuKeys ]]; then options+=("--keyring=$kUbuntuKeys"); fi
  fi
  mmdebstrap --mode=root --format=tar --variant=minbase "${options[@]}" "$suite" "$rooms/pristine.tar.part" "$(mirror)" \
    2>"$rooms/bootstrap.log" || fail "mmdebstrap failed: $(tail -n 3 "$rooms/bootstrap.log")"
  mv "$rooms/pristine.tar.part" "$rooms/pristine.tar"
}

is_ubuntu() { [[ $suite == jammy || $suite == noble ]]; }

# Where this machine's own packages come from.
mirror() {
  local own
  if is_ubuntu; then
    printf '%s\n' "${WARPMARK_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}"
    return
  fi
  # shellcheck disable=SC2016  # for apt-get
  own=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Component: main' | grep -v security | head -n 1)
  printf '%s\n' "${WARPMARK_DEBIAN_MIRROR:-${own:-http://deb.debian.org/debian}}"
}

# An unpacked root that reaches the network as this machine does.
fresh_room() {
  local room=$rooms/$1
  rm -rf "$room"
  mkdir "$room"
  tar --extract --file "$rooms/pristine.tar" --directory "$room"
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
