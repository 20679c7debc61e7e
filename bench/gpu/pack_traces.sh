#!/bin/sh
# Packs what record_traces.py wrote into tar files of at most 14 MB: pack_traces.sh FOLDER DESTINATION
# shellcheck disable=SC2086  # the list of files is meant to fall apart: names of traces have no blanks
set -eu
cd "$1"
n=0 total=0 list=
for file in labels.json details.json *.gz; do
  [ -f "$file" ] || continue
  size=$(stat -c %s "$file")
  if [ $((total + size)) -gt 14000000 ] && [ -n "$list" ]; then
    tar -cf "$2/traces$n.tar" $list
    n=$((n + 1)) total=0 list=
  fi
  list="$list $file" total=$((total + size))
done
[ -z "$list" ] || tar -cf "$2/traces$n.tar" $list
