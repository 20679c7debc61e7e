"""Stored results that the tests know: sessions of three benchmarks over 60 commits, with a slow-down in one of them."""

import datetime
import json
import os
import random
import sqlite3
import subprocess

# What a page must show as text, whatever it looks like.
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\'"&javascript:window.hacked=1'
SLOW_FROM = 40  # the first session in which gemm takes 30 % longer


def metric(name, unit, better, samples):
    ordered = sorted(samples)
    middle = ordered[len(ordered) // 2]
    return {"id": name, "unit": unit, "better": better, "samples": samples, "round_sizes": [len(samples) // 3] * 3, "n": len(samples),
            "median": middle, "ci_low": ordered[1], "ci_high": ordered[-2], "ci_confidence": 0.96, "min": ordered[0],
            "max": ordered[-1], "mean": sum(samples) / len(samples), "stdev": 0.001 * middle, "mad": 0.001 * middle, "cv": 0.01,
            "percentiles": [], "outliers": []}


def run_of(session, index, workload, params, seconds, started, **changed):
    made = {"id": f"{session}.{index}", "index": index, "workload": workload, "params": params, "device": "cpu", "mode": "hot",
            "outcome": "passed", "metrics": [metric("time", "s", "lower", seconds),
                                             metric("rate", "1/s", "higher", [1 / one for one in seconds])],
            "warmup": {"launches": 3, "seconds": 0.1, "settled": True, "reason": "settled"},
            "timing": {"method": "tsc", "resolution_s": 1e-9, "overhead_s": 1e-8, "launches_per_sample": 1, "sets": 1},
            "environment": {"readings": [], "disturbances": []}, "cost": {}, "converged": True, "rounds": 3, "seed": "1",
            "stopped_because": "the interval is narrow", "notes": [], "started": started, "repro": f"warpmark run {workload}"}
    made.update(changed)
    return made


def machine(host, fingerprint="aaaabbbbccccdddd"):
    return {"hostname": host, "os": "Debian GNU/Linux 12", "kernel": "6.1.0-18-amd64", "cpu": "Example CPU", "memory_bytes": 1 << 34,
            "devices": [{"id": "cpu", "backend": "cpu", "name": "Example CPU", "compute_units": 8}], "software": [],
            "fingerprint": fingerprint}


def session_of(number, started, host="node1", runs=(), **changed):
    made = {"schema": "warpmark.results/1", "id": f"{started[:10].replace('-', '')}-{number:06d}-aaaa", "started": started,
            "command": "warpmark run --suite nightly", "commit": f"{number:04x}" * 10, "branch": "main", "dirty": False, "complete": True,
            "machine": machine(host), "build": {"version": "0.1.0", "git_sha": "abc", "git_dirty": False, "compiler": "GNU", "type": "Release"},
            "ceilings": [], "runs": list(runs)}
    made.update(changed)
    return made


def history(count=60):
    """Session `number` of `count`, oldest first, one a day up to today."""
    random.seed(7)
    now = datetime.datetime.now(datetime.timezone.utc).replace(hour=3, minute=0, second=0)
    for number in range(count):
        started = (now - datetime.timedelta(days=count - number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        session = session_of(number, started)
        slow = 1.3 if number >= SLOW_FROM else 1.0
        cases = [("gemm", {"m": 1024, "dtype": "f32"}, 0.010 * slow), ("gemm", {"m": 4096, "dtype": "f32"}, 0.5), ("copy", {"size": 1 << 26}, 0.002)]
        for index, (workload, params, seconds) in enumerate(cases):
            day = random.gauss(1, 0.004)
            samples = [seconds * day * random.gauss(1, 0.006) for _ in range(30)]
            session["runs"].append(run_of(session["id"], index, workload, params, samples, started))
        if number % 9 == 4:
            session["runs"].append(run_of(session["id"], 3, "sum", {"size": 64}, [0.001] * 9, started, outcome="failed", metrics=[],
                                          reason="12 elements differ from the reference"))
        yield session


def fleet():
    """One session of each of six nodes; node4 is slow."""
    started = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:00:00Z")
    for number in range(1, 7):
        session = session_of(500 + number, started, host=f"node{number}", command="warpmark run triad")
        seconds = 0.004 * (1.25 if number == 4 else 1) * random.Random(number).gauss(1, 0.002)
        session["runs"].append(run_of(session["id"], 0, "triad", {"size": 1 << 26}, [seconds * (1 + 0.001 * i) for i in range(9)], started))
        yield session


def updated_machine():
    """Ten sessions of a node that got a new kernel before the sixth: what is measured stays as it was."""
    for number in range(10):
        started = f"2026-08-{number + 1:02d}T03:00:00Z"
        session = session_of(600 + number, started, host="node8", command="warpmark run softmax")
        session["machine"].update({"kernel": "6.1.0-20-amd64", "fingerprint": "updated-fingerprint"} if number >= 5 else {})
        session["runs"].append(run_of(session["id"], 0, "softmax", {"m": 8}, [0.004 * (1 + 0.001 * i) for i in range(9)], started))
        yield session


def hostile_session():
    """HOSTILE in every text that a person or a program can put into the store."""
    started = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    session = session_of(999, started, command=HOSTILE, commit=HOSTILE, branch=HOSTILE)
    session["machine"] = dict(machine(HOSTILE, "hostile-fingerprint"), cpu=HOSTILE, kernel=HOSTILE)
    session["runs"] = [run_of(session["id"], 0, "command", {"command": HOSTILE}, [0.1, 0.2, 0.3] * 3, started, device="host", repro=HOSTILE,
                              reason=HOSTILE, hint=HOSTILE, stopped_because=HOSTILE, outcome="unreliable",
                              environment={"readings": [], "disturbances": [{"id": "steal", "cause": HOSTILE, "invalidates": True}]})]
    session["runs"][0]["metrics"][0]["id"] = "time" + HOSTILE
    session["runs"].append(run_of(session["id"], 1, "command", {"command": HOSTILE}, [0.1, 0.2, 0.3] * 3, started, device="host"))
    return session


def reports():
    """What other verbs conclude, as small as their schemas allow, by the kind of the document, with hostile texts."""
    common = {"id": "1", "started": "2026-11-01T00:00:00Z", "command": HOSTILE, "machine": machine("node1"), "build": {"version": "0.1.0"}}
    metric = {"id": "throughput", "unit": "1/s", "better": "higher"}
    commit = lambda number, subject: {"sha": f"{number:040x}", "author": HOSTILE, "date": "2026-10-01", "subject": subject}

    def variant(precision, batch, value, **more):
        return {"name": f"precision={precision} batch={batch}", "choice": {"precision": precision, "batch": batch}, "baseline": False, "runs": 3,
                "failures": 0, "stopped_early": False, "on_front": False, "cells": [{"metric": "throughput", "median": value, "values": [value]}], **more}

    documents = {
        "matrix": {"name": "sizes", "summary": "", "file": "m.yaml", "rounds": 3, "seed": "1", "effect": 0.01, "alpha": 0.05,
                   "axes": [{"name": "precision", "labels": ["f32", "bf16"]}, {"name": "batch", "labels": ["8", "16"]}], "metrics": [metric],
                   "objectives": ["throughput"], "variants": [variant("f32", "8", 100, baseline=True), variant("f32", "16", 140),
                                                              variant("bf16", "8", 180), variant("bf16", "16", 321, on_front=True)], "notes": [HOSTILE]},
        "scaling": {"worker": "GPU", "mode": "strong", "unit": "samples", "seed": "1", "complete": True, "peak_workers": 37.4,
                    "fits": [{"law": "Amdahl", "residual": 0.01, "parameters": {"serial fraction": {"value": 0.0321, "low": 0.03, "high": 0.035, "confidence": 0.95}}}],
                    "forecasts": [{"workers": 1024, "law": "Amdahl", "speed_up": {"value": 30.3, "low": 28, "high": 33, "confidence": 0.95}, "efficiency": 0.0296}],
                    "causes": ["communication is 17 % of a step"],
                    "points": [{"workers": n, "throughput": [100 * n ** 0.9], "seconds": [1], "median": 100 * n ** 0.9, "speed_up": {"value": n ** 0.9},
                                "efficiency": {"value": n ** -0.1}, "grade": "good", "failures": 0} for n in (1, 2, 4, 8)]},
        "load": {"complete": True, "host": "node1", "scenarios": [
            {"scenario": "chat", "arrivals": "poisson", "rate_per_s": 4, "started": "2026-11-01T00:00:00Z", "wall_s": 10, "requests": {"sent": 40, "completed": 39, "failed": 1},
             "first_error": HOSTILE, "errors": {}, "client": {"verdict": "trusted"}, "slo": [{"objective": "p99 ttft < 0.5 s", "verdict": "missed"}],
             "metrics": {"ttft": {"unit": "s", "better": "lower", "n": 39, "mean": 0.2, "stdev": 0.1, "min": 0.1, "max": 0.9,
                                  "percentiles": {"p50": {"value": 0.19}, "p99": {"value": 0.777}}}}}]},
        "optimization": {"program": HOSTILE, "verdict": "1.84 times faster", "complete": True, "steps": [
            {"knob": "loader.workers", "value": "4", "title": "load in workers", "numerics": "exact", "outcome": "kept", "reason": "proven", "asked": False,
             "measured": {"ratio": 1.84, "low": 1.8, "high": 1.9, "confidence": 0.95}, "cumulative": {"ratio": 1.84, "low": 1.8, "high": 1.9, "confidence": 0.95}},
            {"knob": "precision.bf16", "value": "on", "title": "bf16", "numerics": "precision", "outcome": "rejected", "reason": HOSTILE, "asked": False}]},
        "acceptance": {"name": "h100-sxm", "result": "fail", "criteria": {"file": "h100-sxm.yaml", "sha256": "0"}, "datasheets": [],
                       "rows": [{"title": "Memory bandwidth " + HOSTILE, "required": True, "subject": "copy", "operator": ">=", "unit": "B/s", "limits": [3e12],
                                 "value": 2.5e12, "state": "fail"}]},
        "across": {"effect": 0.03, "alpha": 0.05, "units": [{"node": f"node{n}", "device": "cpu", "state": "slow" if n == 4 else "normal"} for n in range(1, 7)],
                   "metrics": [{"what": "triad " + HOSTILE, "metric": "time", "unit": "s", "median": 0.004, "values": [
                       {"unit": n - 1, "value": 0.005 if n == 4 else 0.004, "state": "slow" if n == 4 else "normal", "slowdown": 0.25 if n == 4 else 0} for n in range(1, 7)]}],
                   "differences": [{"node": "node4", "fact": "kernel", "value": HOSTILE, "most": "6.1.0"}]},
        "check": {"verdict": "worse", "baseline": "main", "threshold": 0.05, "alpha": 0.05, "sessions": ["1"], "dirty": False, "missing": [], "disturbances": [],
                  "metrics": [{"case": "gemm " + HOSTILE, "metric": "time", "unit": "s", "better": "lower", "verdict": "worse", "level": 0.01, "value": 0.013, "ratio": 1.3,
                               "ci_low": 1.28, "ci_high": 1.32, "adjusted_p": 0.00002, "level_sessions": 40, "baseline": [], "current": []}],
                  "suspects": {"metric": "time", "commits": [commit(40, "Use the slow path")]}},
        "bisect": {"good": commit(39, "Before"), "bad": commit(41, "After"), "commits": 2, "metric": {"id": "time", "unit": "s", "better": "lower"}, "effect": 0.01,
                   "outcome": "found", "candidates": [commit(40, "Use the slow path " + HOSTILE)], "probability": 0.987, "range": {"ratio": 1.3, "ci_low": 1.28, "ci_high": 1.32},
                   "probes": [{"index": 1, "commit": commit(40, "Use the slow path"), "answer": "bad", "rounds": 9, "bad_probability": 0.999, "ratio_to_good": 1.3}],
                   "builds": 3, "runs": 27, "history_points": 6, "disturbances": []},
    }
    return {kind: {"schema": f"warpmark.{kind}/1", **common, **document} for kind, document in documents.items()}


def attach(database, session, document, title, made="2026-11-02T00:00:00Z"):
    """As a verb that keeps its conclusion with a stored session."""
    text = json.dumps(document)
    with sqlite3.connect(database) as store:
        key, = store.execute("SELECT key FROM sessions WHERE id = ?", (session,)).fetchone()
        position, = store.execute("SELECT count(*) FROM documents WHERE session = ?", (key,)).fetchone()
        kind = document["schema"].split(".", 1)[1].split("/")[0]
        store.execute("INSERT INTO documents (session, position, kind, made, title, bytes, document) VALUES (?, ?, ?, ?, ?, ?, ?)",
                      (key, position, kind, made, title, len(text), text))
    store.close()
    return position


def plant(executable, database, folder, sessions):
    """Imports them in one go."""
    names = []
    for session in sessions:
        names.append(os.path.join(folder, session["id"] + "-" + session["machine"]["hostname"][:6].strip("<") + ".json"))
        with open(names[-1], "w", encoding="utf-8") as file:
            json.dump(session, file)
    done = subprocess.run([executable, "history", "import", *names, "--db", database], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
