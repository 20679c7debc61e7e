"""Pages of the dashboard over a million results, timed in a real browser; or the same answers of SQLite and PostgreSQL.

    python3 bench/dashboard.py build/release/warpmark STORE [URL]

Makes STORE with a million results (2000 sessions of 500 benchmarks; some minutes) if it is not there, serves it, and prints for
each page the first contentful paint and when its chart or table was there, as the browser's own clock tells: medians of 7 loads.
With URL, a PostgreSQL with the same results, every answer of the API and the export are timed on both instead.
"""

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "dashboard"))
import browser as driving
import plant

SESSIONS, CASES, LOADS = 2000, 500, 7


def make(executable, database):
    """One session by import, so that the tables are the program's own; its rows are then multiplied."""
    folder = tempfile.mkdtemp()
    first = plant.session_of(0, "2020-01-01T00:00:00Z")
    first["runs"] = [plant.run_of(first["id"], i, "gemm", {"m": 64 * (i + 1), "dtype": "f32"}, [0.001 * (i + 1)] * 9, first["started"]) for i in range(CASES)]
    plant.plant(executable, database, folder, [first])
    store = sqlite3.connect(database)
    session = store.execute("SELECT * FROM sessions").fetchone()
    names = [row[1] for row in store.execute("PRAGMA table_info(sessions)")]
    run_rows = store.execute("SELECT key, position, case_key FROM runs").fetchall()
    points = {row[3]: row for row in store.execute("SELECT * FROM points WHERE metric = 'time'")}
    payloads = dict((row[0], row[1:]) for row in store.execute("SELECT run, document, samples FROM payloads"))
    next_run = max(row[0] for row in run_rows) + 1
    for number in range(1, SESSIONS):
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1577836800 + number * 86400))
        values = dict(zip(names, session), key=session[0] + number, id=f"s{number:06d}", started=started, commit_id=f"{number:040x}")
        store.execute(f"INSERT INTO sessions ({','.join(values)}) VALUES ({','.join('?' * len(values))})", tuple(values.values()))
        store.execute("INSERT INTO finishes VALUES (?, '[]')", (values["key"],))
        for key, position, case_key in run_rows:
            store.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, 'passed')", (next_run, values["key"], position, case_key, started))
            old = points[key]
            factor = (1.2 if number > 1500 and position % 50 == 0 else 1) * (1 + 0.004 * ((number * 7919 + position) % 11 - 5) / 5)
            store.execute("INSERT INTO points VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                          (case_key, "time", started, next_run, values["key"], position, *old[6:10], old[10] * factor, old[11] * factor, old[12] * factor, old[13]))
            if number > SESSIONS - 50:
                store.execute("INSERT INTO payloads VALUES (?, ?, ?)", (next_run, *payloads[key]))
            next_run += 1
        if number % 200 == 0:
            store.commit()
            print(number, "sessions", file=sys.stderr)
    store.commit()
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


READY = """const main = document.getElementById('main');
  return main && !main.hasAttribute('aria-busy') && (arguments[0] ? document.querySelector('[data-drawn]') : document.querySelector('main tbody tr')) ? performance.now() : 0;"""


def load(browser, url, chart):
    """Milliseconds to the first paint, and until the chart (or the table) is there."""
    browser.get("about:blank")
    browser.get(url)
    ready = driving.until(lambda: browser.execute_script(READY, chart), 60, url)
    paints = browser.execute_script("return performance.getEntriesByType('paint').map((one) => [one.name, one.startTime])")
    return dict(paints).get("first-contentful-paint", float("nan")), ready


def asked(url, path):
    """Median milliseconds of an answer of the API, and the last one."""
    taken = []
    for _ in range(LOADS):
        begin = time.perf_counter()
        with urllib.request.urlopen(url + path, timeout=60) as answer:
            body = answer.read()
        taken.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(taken), json.loads(body)


def api_paths(url):
    """Every answer that the pages ask for, of the first run and case of this store."""
    run = asked(url, "api/runs?limit=1")[1]["runs"][0]
    case = {name: run[name] for name in ("workload", "params", "device", "mode", "metric")}
    one = urllib.parse.urlencode({"session": run["session"], "index": run["index"]})
    newest = asked(url, "api/sessions?limit=100")[1]["sessions"]
    sessions = [each["id"] for each in newest if each["fingerprint"] == newest[1]["fingerprint"]][:2]  # those of one machine are compared
    series = "api/series?" + urllib.parse.urlencode(case)
    return ["api/sessions?limit=100", "api/runs?limit=100", f"api/runs?session={sessions[-1]}", "api/runs?limit=100&text=workload7",
            "api/run?" + one, "api/cases?limit=200", series, series + "&last=20000", "api/documents", "api/changes", "api/fleet",
            "api/pair?" + urllib.parse.urlencode({"a": sessions[0], "b": sessions[-1]})]


def compare_stores(executable, stores):
    """Every answer and the export, in milliseconds, of both stores."""
    taken = []
    for store in stores:
        served = driving.Dashboard(executable, "--db", store)
        taken.append({path: asked(served.url, path)[0] for path in api_paths(served.url)})
        served.stop()
        begin = time.perf_counter()
        subprocess.run([executable, "dashboard", "--db", store, "--export", tempfile.mkdtemp()], check=True, stdout=subprocess.DEVNULL)
        taken[-1]["dashboard --export"] = 1e3 * (time.perf_counter() - begin)
    for (path, first), second in zip(taken[0].items(), taken[1].values()):
        print(f"{path[:60]:60} {first:8.1f} ms {second:8.1f} ms {second / first:5.1f}x")


def changed_to(browser, address):
    """Milliseconds from a click on another chart to its drawing, in a page that is open."""
    return browser.execute_async_script("""const done = arguments[1]; const begin = performance.now(); const old = document.querySelector('[data-drawn]');
        location.hash = arguments[0];
        const look = () => { const now = document.querySelector('[data-drawn]'); if (now && now !== old) requestAnimationFrame(() => done(performance.now() - begin)); else setTimeout(look, 1); };
        look();""", address)


def main():
    executable, database = os.path.abspath(sys.argv[1]), sys.argv[2]
    if len(sys.argv) > 3:
        compare_stores(executable, sys.argv[2:4])
        return
    if not os.path.exists(database):
        make(executable, database)
    count = sqlite3.connect(database).execute("SELECT count(*) FROM runs").fetchone()[0]
    print(f"{count} results, {os.path.getsize(database) >> 20} MiB; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} threads")
    served = driving.Dashboard(executable, "--db", database)
    browser = driving.start_browser(tempfile.mkdtemp())
    browser.set_script_timeout(60)
    case = lambda m, last="": "#/case?" + urllib.parse.urlencode({"workload": "gemm", "params": f"m={m} dtype=f32", "device": "cpu", "mode": "hot", "metric": "time", **({"last": last} if last else {})})
    try:
        for name, address, chart in (("now", "#/now", False), ("sessions", "#/runs", False), ("runs", "#/runs?show=runs", False), ("runs, words", "#/runs?show=runs&text=m%3D6400", False),
                                     ("history", "#/history", False), ("one benchmark", case(6400), True), ("all its sessions", case(6400, "20000"), True)):
            taken = [load(browser, served.url + address, chart) for _ in range(LOADS)]
            print(f"{name:20} first paint {statistics.median(one[0] for one in taken):6.0f} ms, there after {statistics.median(one[1] for one in taken):6.0f} ms")
        browser.get(served.url + case(64))
        time.sleep(2)
        for last in ("", "1000", "20000"):
            taken = [changed_to(browser, case(64 * (i + 2), last)) for i in range(LOADS)]
            print(f"another chart, {last or '200':>5} sessions {statistics.median(taken):6.0f} ms, slowest {max(taken):.0f} ms")
        for path in ("api/sessions?limit=100", "api/runs?limit=100", "api/runs?limit=100&text=m%3D6400", "api/cases?limit=200", "api/changes", "api/fleet"):
            print(f"/{path:36} {asked(served.url, path)[0]:6.0f} ms")
    finally:
        browser.quit()
        print("memory of the dashboard", served.memory_kib() >> 10, "MiB")
        served.stop()


if __name__ == "__main__":
    main()
