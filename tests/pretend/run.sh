#!/usr/bin/env bash
# Runs a command on a machine that looks like another one: `./dev pretend MACHINE [ctest arguments]` runs the tests so.
# Nothing in the tests or in what users get may depend on the caches, CPUs, clock, load, user or environment of the machine
# it was written on; this is how that is tried.
#
#   tests/pretend/run.sh MACHINE COMMAND [ARGUMENTS]
#
# The command may be this script again, for a machine that differs in several ways.
#
# small-cache    last-level cache of 1 MiB
# huge-cache     last-level cache of 1 GiB
# one-cpu        one CPU (really)
# many-cpus      64 CPUs with a cache each for eight; as many threads as CPUs
# no-topology    /sys tells nothing of caches and CPUs, as in some containers
# slow-clock     a reading of the clock takes 20 us
# jumping-clock  the clock jumps 0.3 s in each second, the wall clock an hour forward every ten
# busy           two threads a CPU that compute all the time
# no-home        no HOME, no XDG folders, no USER
# fixed-home     a HOME that cannot be written
# elsewhere      another locale, another time zone, a mask of 077
# plain-user     not root (run as root; the files must be readable for all)
set -euo pipefail

readonly kLibrary=${PRETEND_LIBRARY:-$PWD/build/release/tests/libwarpmark_pretend.so}

main() {
  if [[ $# -lt 2 ]]; then fail "usage: tests/pretend/run.sh MACHINE COMMAND [ARGUMENTS]; the machines: $(machines)"; fi
  local machine=$1
  shift
  # A machine within a machine has its folder beside the other's: paths of sockets end at 107 bytes.
  export PRETEND_SCRATCH=${PRETEND_SCRATCH:-${TMPDIR:-/tmp}}
  scratch=$(mktemp -d "$PRETEND_SCRATCH/warpmark pretend.XXXXXX")
  chmod 755 "$scratch"
  trap clean_up EXIT
  # So that not even the folder of temporary files is like that of others.
  export TMPDIR=$scratch/tmp
  mkdir -m 1777 "$TMPDIR"
  case $machine in
    small-cache) with_root "$(nproc --all)" 1024K "$@" ;;
    huge-cache) with_root "$(nproc --all)" 1048576K "$@" ;;
    many-cpus) with_root 64 32768K env OMP_WAIT_POLICY=passive PRETEND_CPUS=64 "$@" ;;
    no-topology)
      mkdir -p "$scratch/root/proc"
      cat /proc/cpuinfo >"$scratch/root/proc/cpuinfo"
      preloaded env PRETEND_ROOT="$scratch/root" "$@"
      ;;
    one-cpu) taskset --cpu-list "$(first_cpu)" "$@" ;;
    slow-clock) preloaded env PRETEND_CLOCK=slow "$@" ;;
    jumping-clock) preloaded env PRETEND_CLOCK=jumping PRETEND_START="$(monotonic_ns)" "$@" ;;
    busy) beside_load "$@" ;;
    no-home) env -u HOME -u USER -u LOGNAME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_STATE_HOME -u XDG_CACHE_HOME "$@" ;;
    fixed-home)
      mkdir -m 555 "$scratch/home"
      env -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_STATE_HOME -u XDG_CACHE_HOME HOME="$scratch/home" "$@"
      ;;
    elsewhere)
      umask 077
      LC_ALL=$(another_locale) TZ=Asia/Kathmandu "$@"
      ;;
    plain-user)
      let_anybody_write_the_log
      mkdir -m 777 "$scratch/home"
      setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$scratch/home" "$@"
      ;;
    *) fail "there is no machine '$machine': $(machines)" ;;
  esac
}

# with_root CPUS CACHE COMMAND: files under /sys and /proc/cpuinfo of a machine with that last-level cache for each eight CPUs.
with_root() {
  local cpus=$1 cache=$2 cpu folder level first
  shift 2
  folder=$scratch/root/sys/devices/system/cpu
  mkdir -p "$folder" "$scratch/root/proc"
  printf '0-%d\n' $((cpus - 1)) >"$folder/online"
  for ((cpu = 0; cpu < cpus; ++cpu)); do
    mkdir -p "$folder/cpu$cpu/topology"
    printf '%d\n' "$cpu" >"$folder/cpu$cpu/topology/core_cpus_list"
    printf '0\n' >"$folder/cpu$cpu/topology/physical_package_id"
    first=$((cpu / 8 * 8))
    level=0
    while read -r number type size shared; do
      mkdir -p "$folder/cpu$cpu/cache/index$level"
      printf '%s\n' "$number" >"$folder/cpu$cpu/cache/index$level/level"
      printf '%s\n' "$type" >"$folder/cpu$cpu/cache/index$level/type"
      printf '%s\n' "$size" >"$folder/cpu$cpu/cache/index$level/size"
      printf '%s\n' "$shared" >"$folder/cpu$cpu/cache/index$level/shared_cpu_list"
      level=$((level + 1))
    done <<<"1 Data 32K $cpu
2 Unified 512K $cpu
3 Unified $cache $first-$((first + 7 < cpus ? first + 7 : cpus - 1))"
  done
  for ((cpu = 0; cpu < cpus; ++cpu)); do
    sed -n '/./!q; p' /proc/cpuinfo | sed "s/^processor.*/processor\t: $cpu/"
    echo
  done >"$scratch/root/proc/cpuinfo"
  preloaded env PRETEND_ROOT="$scratch/root" "$@"
}

# ctest keeps its list of tests and its log in the build folder, which belongs to root, and cmake what it installed.
let_anybody_write_the_log() {
  local build=${kLibrary%/tests/*}
  ctest --test-dir "$build" --show-only >/dev/null
  mkdir -p "$build/Testing/Temporary"
  touch "$build/install_manifest.txt"
  chmod -R a+rwX "$build/Testing" "$build/install_manifest.txt"
}

preloaded() {
  if [[ ! -f $kLibrary ]]; then fail "$kLibrary is missing: ./dev pretend builds it"; fi
  LD_PRELOAD=$kLibrary "$@"
}

beside_load() {
  local index
  for ((index = 0; index < 2 * $(nproc); ++index)); do
    while :; do :; done &
    loads+=("$!")
  done
  "$@"
}

another_locale() {
  local locale
  for locale in de_DE.utf8 fr_FR.utf8 tr_TR.utf8 C; do
    if locale -a 2>/dev/null | grep -qx "$locale"; then break; fi
  done
  printf '%s\n' "$locale"
}

first_cpu() { taskset --cpu-list --pid $$ | sed 's/.*: *\([0-9]*\).*/\1/'; }

monotonic_ns() { awk '{printf "%d\n", $1 * 1e9}' /proc/uptime; }

machines() { sed -n 's/^# \([a-z]\+-*[a-z]*\)  .*/\1/p' "${BASH_SOURCE[0]}" | tr '\n' ' '; }

declare -a loads=()
clean_up() {
  if [[ ${#loads[@]} -gt 0 ]]; then kill "${loads[@]}" 2>/dev/null || true; fi
  chmod -R u+w "$scratch" 2>/dev/null || true
  rm -rf "$scratch"
}

fail() {
  printf 'pretend: %s\n' "$*" >&2
  exit 2
}

main "$@"
