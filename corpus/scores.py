#!/usr/bin/env python3
"""How often the analysis was right, from a table of scores (docs/results/analysis-2026-11-21.csv): first findings that
name an accepted cause, healthy programs with nothing above severity 0.4, gain intervals that hold the measured gain,
each with the 95 % interval of such a share by Wilson.

Usage: python3 corpus/scores.py TABLE.csv [--look first|last] [--set SET]... [--since SET] [--misses]
                                          [--by set|cause|framework|gpus]

look: "first" is before anything was mended because of a program, "last" the last run that was kept of it."""
import argparse
import csv
import math
import sys

ORDINALS = ("fir", "sec", "thi", "fo", "fi", "si", "se", "ei", "ni", "te", "el", "tw")  # first, second, ..., twentieth
Z = 1.959964  # both sides of a normal distribution beyond it: 5 %


def main():
    settings = arguments()
    with open(settings.table, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["look"] in (settings.look, "both")]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    for name in [*settings.set, *([settings.since] if settings.since else [])]:
        if name not in sets:
            print(f"scores.py: no set {name}; there are {', '.join(sets)}", file=sys.stderr)
            return 2
    if settings.since:
        numbered = [name for name in sets if name.startswith(ORDINALS)]
        sets = numbered[numbered.index(settings.since):]
    rows = [row for row in rows if row["set"] in (settings.set or sets)]
    groups = list(dict.fromkeys(row[settings.by] for row in rows)) if settings.by else []
    print(f"{'':18} {'first finding':>31} {'healthy left alone':>31} {'gain held':>31}")
    for group in groups:
        show(group, [row for row in rows if row[settings.by] == group])
    show("all", rows)
    if settings.misses:
        show_misses(rows)
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--look", choices=("first", "last"), default="first")
    parser.add_argument("--set", action="append", default=[], help="only this set; repeatable")
    parser.add_argument("--since", help="the numbered sets from this one on")
    parser.add_argument("--by", choices=("set", "cause", "framework", "gpus"))
    parser.add_argument("--misses", action="store_true", help="also each program that was missed")
    return parser.parse_args()


def show(name, rows):
    flawed = [row for row in rows if row["cause"] != "none"]
    healthy = [row for row in rows if row["cause"] == "none"]
    gains = [row for row in flawed if row["gain_measured"]]
    counts = [([row["right"] == "yes" for row in flawed]), ([row["right"] == "yes" for row in healthy]),
              ([row["held"] == "yes" for row in gains])]
    print(f"{name:18} " + " ".join(f"{share(each):>31}" for each in counts))


def share(hits):
    if not hits:
        return "-"
    low, high = wilson(sum(hits), len(hits))
    return f"{sum(hits)} of {len(hits)} ({sum(hits) / len(hits):.1%}, {low:.0%} to {high:.0%})"


def wilson(hits, count):
    """The score interval of a share (Wilson 1927)."""
    p, z2 = hits / count, Z * Z
    middle = (p + z2 / (2 * count)) / (1 + z2 / count)
    half = Z * math.sqrt(p * (1 - p) / count + z2 / (4 * count * count)) / (1 + z2 / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def show_misses(rows):
    print()
    for row in rows:
        if row["right"] == "no" or row["held"] == "no":
            told = f"{row['gain_low']} to {row['gain_high']}" if row["gain_low"] else "nothing"
            print(f"{row['program']:46} {row['set']:13} {row['cause']:18} first {row['first_finding']:18} "
                  f"told {told:15} measured {row['gain_measured'] or '-'}")


if __name__ == "__main__":
    sys.exit(main())
