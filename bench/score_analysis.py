"""Scores `warpmark analyze` on labelled traces: is the first finding an accepted one, are healthy traces left in peace,
does the gain interval hold the speed-up that the fix really gave, and how wide is it.

Usage: python3 score_analysis.py --warpmark build/warpmark [--split holdout] [--jobs 2] [--json scores.json] LABELS ...
LABELS: labels.json files, or folders that hold one (trace files beside it, or in its folder traces/).

A label: {name, files, injected, accept, measured_speedup, ...}; `injected` "none" means healthy. The gain compared is
that of the finding for the injected rule, else of the first accepted one (--gain-of first: always the first finding).
A finding's gain is that of its first recommendation. Where another one was applied (FIXES) and has a gain of its own,
"fix" columns compare that.

Exits 1 if warpmark failed on a trace or a --require-* bound is missed."""
import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile


HEALTHY_SEVERITY = 0.4  # above it a finding is a warning
WIDEST = 2.0            # high / low of a useful gain interval
FIXES = {"cuda graph": "cuda_graph", "torch.compile": "compile", "set_float32_matmul_precision": "tf32",
         "on the gpu": "gpu_preprocessing", "decoded tensors": "gpu_preprocessing", "for each all-reduce": "larger_batch"}


def labels_of(path, split):
    file = os.path.join(path, "labels.json") if os.path.isdir(path) else path
    folder = os.path.dirname(file)
    with open(file, encoding="utf-8") as stream:
        labels = json.load(stream)
    for label in labels:
        places = [[os.path.join(folder, sub, name) for name in label["files"]] for sub in ("", "traces")]
        label["paths"] = next((p for p in places if all(map(os.path.exists, p))), places[0])
    return [label for label in labels if not split or label.get("split") == split]


def analysis_of(label, warpmark, extra, limit):
    """(analysis, None) or (None, what went wrong)."""
    missing = [path for path in label["paths"] if not os.path.exists(path)]
    if missing:
        return None, f"missing {missing[0]}"
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "analysis.json")
        try:
            done = subprocess.run([warpmark, "analyze", *label["paths"], "--json", out, *extra], capture_output=True,
                                  text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return None, f"longer than {limit:.0f} s"
        if not os.path.exists(out):
            lines = (done.stderr or done.stdout).strip().splitlines()
            return None, f"exit {done.returncode}: {lines[-1] if lines else 'no message'}"
        with open(out, encoding="utf-8") as stream:
            return json.load(stream), None


def gain_finding(findings, label, gain_of):
    if gain_of == "first":
        return findings[0] if findings else None
    for rule in [label["injected"], *label["accept"]]:
        for finding in findings:
            if finding["rule"] == rule:
                return finding
    return None


def gain_of_fix(finding, label):
    """The gain of the recommendation that the label's fix followed; the finding's own if that is the first one."""
    fix = next((fix for words, fix in FIXES.items() if words in label["fix"].lower()), None)
    advice = next((a for a in finding["recommendations"] if fix and a.get("id") == fix), finding)
    return advice["gain"]


def score(label, analysis, gain_of):
    findings = analysis.get("findings", [])  # in the order in which they are reported
    first = findings[0] if findings else None
    row = {"name": label["name"], "injected": label["injected"], "split": label.get("split", ""),
           "first": first["rule"] if first else "-", "severity": first["severity"] if first else 0.0,
           "second": findings[1]["rule"] if len(findings) > 1 else "-", "measured": label.get("measured_speedup")}
    if label["injected"] == "none":
        row["accepted"] = max((f["severity"] for f in findings), default=0.0) <= HEALTHY_SEVERITY
        return row
    row["accepted"] = row["first"] in label["accept"]
    chosen = gain_finding(findings, label, gain_of)
    if row["measured"] and chosen:
        low, high = chosen["gain"]["low"], chosen["gain"]["high"]
        fix = gain_of_fix(chosen, label)
        row |= {"low": low, "high": high, "width": high / low, "holds": low <= row["measured"] <= high,
                "fix_low": fix["low"], "fix_high": fix["high"],
                "fix_holds": fix["low"] <= row["measured"] <= fix["high"],
                "off": math.log(row["measured"] / math.sqrt(fix["low"] * fix["high"]))}
    elif row["measured"]:
        row |= {"holds": False, "fix_holds": False}
    return row


def text(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.2f}"


def print_table(rows):
    print(f"{'trace':36} {'injected':18} {'first finding':18} ok  sever. {'second':18} {'measured':>8} {'low':>6} "
          f"{'high':>6} {'width':>5} holds fix")
    for row in rows:
        if "error" in row:
            print(f"{row['name']:36} {row['injected']:18} ERROR {row['error']}")
            continue
        print(f"{row['name']:36} {row['injected']:18} {row['first']:18} {text(row['accepted']):3} "
              f"{row['severity']:6.2f} {row['second']:18} {text(row['measured']):>8} {text(row.get('low')):>6} "
              f"{text(row.get('high')):>6} {text(row.get('width')):>5} {text(row.get('holds')):5} "
              f"{text(row.get('fix_holds')):4} {text(row.get('off')):>5}")


def share(rows, test):
    return sum(map(test, rows)) / len(rows) if rows else math.nan


def quantile(values, q):
    return values[min(len(values) - 1, int(q * len(values)))] if values else math.nan


def totals_of(rows):
    """A trace on which warpmark failed counts as missed everywhere."""
    flawed = [r for r in rows if r["injected"] != "none"]
    healthy = [r for r in rows if r["injected"] == "none"]
    gains = [r for r in flawed if r["measured"]]
    widths = sorted(r["width"] for r in gains if "width" in r)
    off = sorted(abs(r["off"]) for r in gains if "off" in r)
    return {"traces": len(rows), "errors": sum("error" in r for r in rows),
            "accepted": share(flawed, lambda r: r.get("accepted", False)),
            "healthy_left_alone": share(healthy, lambda r: r.get("accepted", False)),
            "gain_held": share(gains, lambda r: r.get("holds", False)),
            "gain_of_fix_held": share(gains, lambda r: r.get("fix_holds", False)),
            "gain_held_and_narrow": share(gains, lambda r: r.get("holds", False) and r["width"] < WIDEST),
            "median_width": widths[len(widths) // 2] if widths else math.nan,
            "widest": widths[-1] if widths else math.nan,
            **{f"off_by_factor_{q}": math.exp(quantile(off, q / 100)) for q in (50, 80, 90)}}


def by_cause(rows):
    for cause in sorted({r["injected"] for r in rows}):
        mine = [r for r in rows if r["injected"] == cause]
        gains = [r for r in mine if r["measured"]]
        print(f"  {cause:20} {sum(r.get('accepted', False) for r in mine):3} of {len(mine):3} accepted"
              + (f", {sum(r.get('holds', False) for r in gains):3} of {len(gains):3} gains held, "
                f"{sum(r.get('fix_holds', False) for r in gains):3} of the fix's" if gains else ""))


def row_of(label, warpmark, arguments):
    analysis, error = analysis_of(label, warpmark, arguments.option, arguments.limit)
    if error:
        return {"name": label["name"], "injected": label["injected"], "measured": label.get("measured_speedup"),
                "error": error}
    return score(label, analysis, arguments.gain_of)


def rows_of(labels, warpmark, arguments):
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        return list(pool.map(lambda label: row_of(label, warpmark, arguments), labels))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", nargs="+", help="labels.json or its folder")
    parser.add_argument("--warpmark", default="build/warpmark", help="the program")
    parser.add_argument("--split", choices=("calibrate", "holdout", "blind"), help="only this part")
    parser.add_argument("--gain-of", choices=("injected", "first"), default="injected")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60, help="seconds a trace may take")
    parser.add_argument("--json", help="rows and totals, for programs")
    parser.add_argument("--option", action="append", default=[], help="further argument of analyze; repeatable")
    parser.add_argument("--require-accepted", type=float, default=0, help="0..1, healthy ones too")
    parser.add_argument("--require-gain", type=float, default=0, help="0..1, held and narrower than 2x")
    arguments = parser.parse_args()
    labels = [label for path in arguments.labels for label in labels_of(path, arguments.split)]
    rows = rows_of(labels, arguments.warpmark, arguments)
    print_table(rows)
    totals = totals_of(rows)
    print()
    by_cause(rows)
    print("\n" + "\n".join(f"{name:22} {value if isinstance(value, int) else f'{value:.3f}'}"
                           for name, value in totals.items()))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as stream:
            json.dump({"rows": rows, "totals": totals}, stream, indent=1)
    everything = share(rows, lambda r: r.get("accepted", False))
    narrow = totals["gain_held_and_narrow"]
    missed = everything < arguments.require_accepted or (not math.isnan(narrow) and narrow < arguments.require_gain)
    return 1 if totals["errors"] or missed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
