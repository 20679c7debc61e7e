# Sourced by the benches that run many commands within a limit: they set kOut, a folder, and kDeadline, in SECONDS.
# shellcheck shell=bash disable=SC2154

# Runs COMMAND with its output in $kOut/NAME.txt, for at most SECONDS and the time that is left.
kept() {
  local name=$1 limit=$2 left=$((kDeadline - SECONDS)) begin=$SECONDS
  shift 2
  if ((left < 10)); then
    printf '%s: no time left\n' "$name" | tee "$kOut/$name.txt"
    return 1
  fi
  timeout --kill-after=10 $((limit < left ? limit : left)) "$@" >"$kOut/$name.txt" 2>&1
  local code=$?
  printf '%s: exit code %d, %d s, at %d s\n' "$name" "$code" $((SECONDS - begin)) "$SECONDS"
  return $code
}
