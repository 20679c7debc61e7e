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


ANSWERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "answers")


def reports(executable, folder):
    """What other verbs conclude, whole as they write it, by the kind of the document; with hostile texts where people and programs write
    texts, and with the parts that only some have."""
    def recorded(name):
        with open(os.path.join(ANSWERS, name + ".json"), encoding="utf-8") as file:
            return json.load(file)

    def made(name, *words):
        path = os.path.join(folder, name + ".json")
        done = subprocess.run([executable, *words, "--json", path], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def kept(sessions):
        """Names of files with these sessions."""
        for session in sessions:
            name = os.path.join(folder, session["id"] + ".json")
            with open(name, "w", encoding="utf-8") as file:
                json.dump(session, file)
            yield name

    bisection, load, matrix, optimization = recorded("bisection"), recorded("load"), recorded("matrix"), recorded("optimization")
    bisection["candidates"][0]["subject"] += HOSTILE
    matrix["notes"].append(HOSTILE)
    requests = load["scenarios"][0]["requests"]
    requests.update(completed=requests["completed"] - 1, failed=1)
    load["scenarios"][0].update(first_error=HOSTILE, errors={"http 500": 1})
    optimization["steps"][-1]["reason"] = optimization["program"] = HOSTILE
    for step, ratio in zip(optimization["steps"], (1.05, 1.19, 2.18)):  # what a longer budget would have measured, in the place of its key
        at = list(step).index("loss")
        items = list(step.items())
        step.clear()
        step.update([*items[:at], ("cumulative", {"ratio": ratio, "low": ratio - 0.05, "high": ratio + 0.05, "confidence": 0.95}), *items[at:]])
    acceptance = recorded("acceptance")
    acceptance["rows"][0]["title"] += HOSTILE
    scaling = made("scaling", "scale", "--times", "1=620s,2=350s,4=180s,8=95s")
    scaling.update(causes=["communication is 17 % of a step", HOSTILE], peak_workers=37.4)
    across = made("across", "accept", "--across", *kept(fleet()))
    across["metrics"][0]["what"] += HOSTILE
    across["differences"] = [{"node": "node4", "fact": "kernel", "value": HOSTILE, "most": "6.1.0"}]
    past, database = list(history()), os.path.join(folder, "check.db")
    plant(executable, database, folder, past[:SLOW_FROM])
    check = made("check", "check", "--db", database, "--results", *kept(past[SLOW_FROM:SLOW_FROM + 1]))
    check["metrics"][0]["case"] += HOSTILE
    culprit = bisection["candidates"][0]
    check["suspects"] = {"metric": check["suspects"]["metric"], "good": bisection["good"]["sha"], "bad": check["suspects"]["bad"],
                         "commits": [bisection["probes"][0]["commit"], culprit], "culprit_certain": True, "culprit": culprit, "search": bisection}
    check["missing"] = ["sum size=128 time"]
    return {"matrix": matrix, "scaling": scaling, "load": load, "optimization": optimization, "acceptance": acceptance, "across": across,
            "check": check, "bisect": bisection}


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
