"""The dashboard in a real browser: planted data on every page, charts by their pixels, live values, keyboard, landmarks,
contrast, hostile texts, hostile clients, a database that is locked or gone, TLS, the export."""

import base64
import datetime
import json
import os
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as driving
import plant

WARPMARK = ""
MOCK_NVML = ""
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASE = "#/case?workload=gemm&params=m%3D1024+dtype%3Df32&device=cpu&mode=hot&metric=time"


def setUpModule():
    global FOLDER, DATABASE, SERVED, BROWSER, SESSIONS, REPORTS
    FOLDER = tempfile.mkdtemp(prefix="warpmark-dashboard-")
    DATABASE = os.path.join(FOLDER, "planted.db")
    SESSIONS = list(plant.history())
    plant.plant(WARPMARK, DATABASE, FOLDER, SESSIONS + list(plant.fleet()) + list(plant.updated_machine()) + [plant.hostile_session()])
    subprocess.run([WARPMARK, "history", "tag", SESSIONS[10]["id"], "v1.0", "--db", DATABASE], check=True, capture_output=True)
    made = os.path.join(FOLDER, "made")
    os.mkdir(made)
    REPORTS = plant.reports(WARPMARK, made)
    attach_documents()
    files = os.path.join(FOLDER, "files")
    os.makedirs(os.path.join(files, "sub"))
    shutil.copy(os.path.join(SOURCE, "examples/traces/resnet18_slow_loading.pt.trace.json.gz"), files)
    write_documents(os.path.join(files, "sub"))
    SERVED = driving.Dashboard(WARPMARK, "--db", DATABASE, "--files", files, environment={"LD_LIBRARY_PATH": MOCK_NVML})
    BROWSER = driving.start_browser(os.path.join(FOLDER, "profile"))


def tearDownModule():
    BROWSER.quit()
    code = SERVED.stop()
    shutil.rmtree(FOLDER, ignore_errors=True)
    assert code == 0, f"the dashboard ended with {code}"


def write_documents(folder):
    """Reports in a folder, as --json and --out leave them; one of a schema that nobody knows, one that lacks most of its fields."""
    odd = {"unknown": {"schema": "warpmark.unknown/1", "name": plant.HOSTILE, "deep": {"seen": 7}}, "broken": {"schema": "warpmark.matrix/1", "name": "torn"}}
    for name, document in {**REPORTS, **odd}.items():
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(document, file)


def attach_documents():
    """The same in the database: verdicts with the session whose level changed, acceptances with the newest one of a node."""
    for kind, document in REPORTS.items():
        of_node = kind in ("acceptance", "across")
        session = next(plant.fleet())["id"] if of_node else SESSIONS[plant.SLOW_FROM]["id"]
        plant.attach(DATABASE, session, document, f"stored {kind} {plant.HOSTILE}")


def every_page():
    """Addresses of each kind of page with what was planted."""
    of_change = SESSIONS[plant.SLOW_FROM]["id"]
    return ["#/now", "#/runs", "#/runs?show=runs", f"#/session?id={of_change}", f"#/run?session={of_change}&index=0", "#/history", CASE, "#/compare",
            f"#/compare?a={SESSIONS[5]['id']}&b={SESSIONS[50]['id']}", "#/fleet", "#/profile", "#/profile?name=resnet18_slow_loading.pt.trace.json.gz", "#/reports",
            *(f"#/reports?name=sub/{kind}.json&kind={kind}" for kind in [*REPORTS, "unknown"])]


def is_sanitized():
    with open(WARPMARK, "rb") as file:
        code = file.read()
    return b"__asan_init" in code or b"__tsan_init" in code


def ask(path, served=None, headers=None):
    request = urllib.request.Request((served or SERVED).url + path, headers=headers or {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


class Pages(unittest.TestCase):
    """Each page shows what was planted."""

    def open(self, address, wait_for=None):
        BROWSER.get("about:blank")
        BROWSER.get(SERVED.url + address)
        self.settled()
        if wait_for:
            driving.until(lambda: wait_for in self.text(), what=f"'{wait_for}' on {address}")
        return self.text()

    def settled(self):
        driving.until(lambda: self.js("return document.querySelector('h1') && !document.getElementById('main').hasAttribute('aria-busy')"), what="the page")

    def text(self):
        return self.js("return document.body.innerText")

    def js(self, script, *arguments):
        return BROWSER.execute_script(script, *arguments)

    def emulate(self, width=1200, scheme="light"):
        BROWSER.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        BROWSER.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def setUp(self):
        self.emulate()
        BROWSER.get_log("browser")

    def tearDown(self):
        severe = [entry["message"] for entry in BROWSER.get_log("browser") if entry["level"] == "SEVERE"]
        if not getattr(self, "errors_expected", False):
            self.assertEqual(severe, [], "the browser's console has errors (also of the content security policy)")

    def coloured(self, colour, index=0):
        """Pixels of a chart that have the colour of this name in the style sheet, or one near it."""
        return self.js("""
            const canvas = document.querySelectorAll('canvas')[arguments[1]];
            const wanted = getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim();
            const [r, g, b] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
            const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            const found = [];
            for (let i = 0; i < pixels.length; i += 4) {
              if (pixels[i + 3] > 200 && Math.abs(pixels[i] - r) + Math.abs(pixels[i + 1] - g) + Math.abs(pixels[i + 2] - b) < 24)
                found.push([(i / 4) % canvas.width / canvas.width, Math.floor(i / 4 / canvas.width) / canvas.height]);
            }
            return found;""", colour, index)

    def test_now_shows_machine_gpus_changes_and_sessions_and_its_values_move(self):
        text = self.open("#/now", "H100")
        driving.until(lambda: "+29" in self.text() or "+30" in self.text(), what="the planted slow-down")
        for wanted in ("This machine", "NVIDIA H100 80GB HBM3", "97.0 %", "sw_power_cap", "gemm m=1024 dtype=f32", "warpmark run triad"):
            self.assertIn(wanted, self.text())
        first = self.js("return document.getElementById('live-time').textContent")
        driving.until(lambda: self.js("return document.getElementById('live-time').textContent") != first, what="a later moment")
        driving.until(lambda: len(self.coloured("--c0", 1)) > 30, what="the GPU's line")
        self.assertTrue(all(y < 0.35 for x, y in self.coloured("--c0", 1)), "GPU 0 is at 97 %: near the top")
        self.assertNotIn("This cannot be shown", text)

    def test_now_keeps_the_focus_and_what_is_unfolded_when_its_values_move(self):
        self.open("#/now", "H100")
        self.js("window.firstSummary = document.querySelector('#machine summary'); window.firstSummary.click(); window.firstSummary.focus()")
        driving.until(lambda: not self.js("return window.firstSummary.isConnected"), what="later values")
        self.assertEqual(self.js("return document.activeElement.tagName"), "SUMMARY")
        self.assertTrue(self.js("return document.querySelector('#machine details').open"))

    def test_sessions_are_filtered_sorted_and_two_are_compared(self):
        self.assertIn("warpmark run --suite nightly", self.open("#/runs?text=nightly"))
        self.assertNotIn("warpmark run triad", self.text())
        self.assertIn("v1.0", self.open("#/runs?tag=v1.0"))
        self.assertEqual(self.js("return document.querySelectorAll('tbody tr').length"), 1)
        self.open("#/runs?text=nightly")
        self.assertIn("60 shown", self.text())
        dates = lambda: self.js("return [...document.querySelectorAll('tbody time')].map((one) => one.dateTime)")
        self.assertEqual(dates(), sorted(dates(), reverse=True))
        self.js("document.querySelector('th button').click()")
        self.assertEqual(dates(), sorted(dates()))
        boxes = self.js("return [...document.querySelectorAll('input[type=checkbox]')].map((one) => one.value)")
        for session in (SESSIONS[5]["id"], SESSIONS[50]["id"]):
            self.assertIn(session, boxes)
            self.js("document.querySelector(`input[value='${arguments[0]}']`).click()", session)
        self.js("document.getElementById('compare').click()")
        driving.until(lambda: "B is" in self.text(), what="the comparison")
        self.assertIn(f"a={SESSIONS[5]['id']}&b={SESSIONS[50]['id']}", BROWSER.current_url, "the older one is the baseline")

    def test_runs_show_their_outcome_and_one_opens(self):
        text = self.open("#/runs?show=runs&outcome=failed")
        self.assertIn("sum size=64", text)
        self.assertNotIn("passed", self.js("return document.querySelector('tbody').innerText"))
        self.js("document.querySelector('tbody a').click()")
        driving.until(lambda: "12 elements differ from the reference" in self.text(), what="the reason")
        self.open(f"#/run?session={SESSIONS[50]['id']}&index=0", "time over time")
        self.assertIn("13.0", self.text().replace("12.9", "13.0"))
        self.assertGreater(len(self.coloured("--c0", 1)), 20, "a point for each sample")

    def test_more_than_a_page_of_runs_is_asked_for(self):
        self.open("#/runs?show=runs")
        self.assertEqual(self.js("return document.querySelectorAll('tbody tr').length"), 100)
        self.js("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Show more').click()")
        driving.until(lambda: self.js("return document.querySelectorAll('tbody tr').length") > 100, what="the next page")

    def test_history_lists_values_shapes_and_a_wall_of_charts(self):
        text = self.open("#/history", "Benchmarks (")
        for wanted in ("newest", "shape", "last measured"):
            self.assertIn(wanted, text)
        rows = self.js("return document.querySelectorAll('#list tbody tr').length")
        lines = "return [...document.querySelectorAll('#list .spark polyline')].map(one => one.getAttribute('points').split(' ').map(at => Number(at.split(',')[1])))"
        long = max(self.js(lines), key=len)
        self.assertEqual(len(long), 40, "the newest values")
        self.assertGreater(max(long) - min(long), 10, "the planted change is in sight")
        text = self.open("#/history?show=charts", "Benchmarks (")
        self.assertEqual(self.js("return document.querySelectorAll('.wall a').length"), rows)
        self.js("document.querySelector('.wall a:has(.spark)').click()")
        driving.until(lambda: "Change points" in self.text(), what="the benchmark of a chart")
        self.open("#/history?days=7", "Benchmarks (")
        self.assertIn(max(map(len, self.js(lines))), (6, 7), "the days of a week")

    def test_history_draws_the_change_where_it_was_planted_and_leads_to_the_run(self):
        text = self.open(CASE, "before / after")
        for wanted in ("Change points", "warpmark bisect --good", "lower is better", "60 sessions"):
            self.assertIn(wanted, text)
        line = self.coloured("--c0")
        before = [y for x, y in line if 0.15 < x < 0.55]
        after = [y for x, y in line if 0.75 < x < 0.95]
        self.assertGreater(len(before), 50)
        self.assertGreater(len(after), 30)
        self.assertGreater(min(before), max(after), "the slower level is above the faster one")
        marks = [x for x, y in self.coloured("--bad")]
        self.assertGreater(len(marks), 100, "a line where the level changed")
        self.assertTrue(all(abs(x - 0.67) < 0.06 for x in marks), sorted(set(marks)))
        from selenium.webdriver.common.action_chains import ActionChains
        canvas = BROWSER.find_element("css selector", "canvas")
        ActionChains(BROWSER).move_to_element(canvas).click().perform()
        driving.until(lambda: "#/run?" in BROWSER.current_url, what="the run")

    def test_history_marks_where_the_machine_changed(self):
        text = self.open("#/case?workload=softmax&params=m%3D8&device=cpu&mode=hot&metric=time", "change of the machine")
        self.assertIn("6.1.0-20-amd64", text)
        self.assertIn("No change point", text)
        marks = [x for x, y in self.coloured("--c3")]
        self.assertGreater(len(marks), 50, "a line where it got another kernel")
        self.assertTrue(all(abs(x - 0.58) < 0.06 for x in marks), sorted(set(marks)))

    def test_history_lists_and_finds_benchmarks(self):
        text = self.open("#/history", "Changed last")
        self.assertIn("copy size=67108864", text)
        text = self.open("#/history?text=copy")
        self.assertIn("Benchmarks (1)", text)

    def test_compare_tells_verdicts_and_distributions(self):
        self.open(f"#/compare?a={SESSIONS[5]['id']}&b={SESSIONS[50]['id']}", "B is 1.30x slower")
        text = self.whole_text()
        for wanted in ("1 worse, 1 better, 1 same", "1 of 3 metrics: worse", "gemm m=1024 f32 hot", "1.2926 .. 1.2992", "no difference of 1.0 % or more"):
            self.assertIn(wanted, text)
        self.assertGreater(len(self.coloured("--bad")), 10, "the case that is worse has a mark of its colour")
        self.assertEqual(self.js("return [...document.querySelectorAll('svg.plot')].filter((one) => one.querySelectorAll('.median').length === 2).length"), 3, "both distributions of each case")

    def test_fleet_names_the_slow_node(self):
        self.open("#/fleet", "Outliers")
        row = self.js("return [...document.querySelectorAll('tbody tr')].find((one) => one.innerText.startsWith('node4')).innerText")
        self.assertIn("slow", row)

    def test_profile_has_findings_breakdown_and_the_timeline(self):
        self.open("#/profile?name=resnet18_slow_loading.pt.trace.json.gz", "Where the time of a step goes")
        text = self.whole_text()
        for wanted in ("Fix: load batches in worker processes", "NVIDIA H100 80GB HBM3", "91.0 %", "1. critical: data_loading", "To see more"):
            self.assertIn(wanted, text)
        driving.until(lambda: self.js("return !!document.querySelector('iframe').contentDocument?.querySelector('.wm-rows canvas')"), what="the timeline")
        drawn = """const inner = document.querySelector('iframe').contentDocument; const canvas = inner.querySelector('.wm-rows canvas');
            const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data; const colours = new Set();
            for (let i = 0; i < pixels.length; i += 40) colours.add(pixels.slice(i, i + 3).join()); return colours.size;"""
        driving.until(lambda: self.js(drawn) > 6, what="events in several colours")

    # Facts of each report, what is folded away too.
    SHOWN = {
        "matrix": ("Best p50: 108.0 \u00b5s with precision=single batch=1", "worse x15.9", "9020 1/s", "on the Pareto front of p50 (lower), throughput (higher), cost (lower)", "Heat maps",
                   "\u00b139 %", "28 rounds 21 %", "no energy: no GPU with an energy counter is here"),
        "scaling": ("8 GPUs: 6.53x faster, efficiency 81.6 %", "communication is 17 % of a step", "0.0268", "0 .. 0.117", "throughput is largest with 37 GPUs", "512\tAmdahl\t34.8", "below the usual 85-92 %"),
        "load": ("SLO missed with 32 users: ttft:p90<100ms (208.7 ms)", "80 requests in 4.987 s, 5 of warm-up left out, 1 failed (http 500 1), 79 completed", "met: 28.00 ms", "60.76 ms \u00b11.8 %",
                 "output_tokens, tokens", "needs 299 requests, have 75"),
        "optimization": ("2.18x [1.8, 2.63] faster", "workers of the data loader", "1.03x-1.07x", "part of the bundle", "not enough budget left to compile", "2.18x [2.13, 2.23]", "undecided"),
        "acceptance": ("NO RESULT: 3 of 6 criteria are unreliable", ">= 1.00 GB/s", "5.39 GB/s", "other processes used 76 % of the CPU time", "node17", "cpu-smoke.yaml", "20261129-190818-33c4"),
        "across": ("node4 cpu is slow: 24.9 % slower", "What differs between the nodes", "5.020 ms", "4.023 ms", "6.1.0"),
        "check": ("2 worse, 1 inconclusive, 4 unchanged", "+29.9 %", "[+28.6 %, +31.2 %]", "sum size=128 time", "8fb9dfe9f8 made the change", "bc2486db13", "a42fefac06 change 1", "4 builds, 112 runs"),
        "bisect": ("8fb9dfe9f8 made the change (more than 99.9 % certain)", "+35.9 %", "+34.1 %", "a42fefac06 change 1", "58d22ea7ac change 4", "+18.1 %", "4 builds, 112 runs", "the culprit is certain enough")}

    def whole_text(self):
        self.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        return self.text()

    def test_reports_of_other_verbs_are_shown(self):
        pages = {"optimization": "optimizations", "across": "acceptance"}
        for kind, wanted in self.SHOWN.items():
            page = "#/reports?kind=" + pages.get(kind, kind)
            text = self.open(page)
            self.assertIn(f"sub/{kind}.json", text)
            self.assertIn(f"stored {kind} <img", text)
            self.open(f"{page}&name=sub/{kind}.json")
            text = self.whole_text()
            for one in wanted:
                self.assertIn(one, text, kind)
            self.assertIn("onerror", text, "hostile texts are shown as they are")

    def test_what_verbs_stored_is_reached_from_the_list_and_drawn(self):
        for kind, wanted in self.SHOWN.items():
            self.open("#/reports?kind=" + kind)
            self.js("[...document.querySelectorAll('tbody a')].find((one) => one.textContent.startsWith('stored ' + arguments[0])).click()", kind)
            driving.until(lambda: "session=" in BROWSER.current_url and wanted[0] in self.text(), what=kind)
            text = self.whole_text()
            for one in wanted:
                self.assertIn(one, text, kind)
            self.assertIsNone(self.js("return window.hacked ?? null"), kind)
            self.assertEqual(self.js("return document.querySelectorAll('#main img, #main script, #main [style], [onerror]').length"), 0, kind)
            if kind == "scaling":
                rise = self.js("const line = document.querySelector('svg.plot .line'); return line.getPointAtLength(0).y - line.getPointAtLength(line.getTotalLength()).y")
                self.assertGreater(rise, 30, "the speedup goes up")
            if kind == "optimization":
                self.assertEqual(self.js("return document.querySelectorAll('svg .fall-good').length"), 3, "a bar for each setting that was kept")
            if kind == "matrix":
                shades = self.js("return [...document.querySelector('svg:has(.heat)').querySelectorAll('.heat')].map((one) => getComputedStyle(one).fillOpacity)")
                self.assertEqual(len(shades), 6)
                self.assertGreater(len(set(shades)), 2, "larger values are stronger")

    def test_a_document_without_a_report_is_shown_as_it_is(self):
        self.open("#/reports?kind=others&name=sub/unknown.json")
        text = self.whole_text()
        for wanted in ("warpmark.unknown/1", "onerror", '"seen": 7'):
            self.assertIn(wanted, text)
        text = self.open("#/reports?kind=matrix&name=sub/broken.json", "torn")
        self.assertRegex(text, "is missing")

    def test_tables_of_reports_sort_by_their_quantities(self):
        self.open("#/reports?kind=load&name=sub/load.json")
        column = """const table = [...document.querySelectorAll('.report table')].find((one) => one.tHead?.innerText.startsWith('latency'));
            const heads = [...table.tHead.rows[0].cells], at = heads.findIndex((one) => one.innerText === 'p50');
            if (arguments[0]) heads[at].querySelector('button').click();
            return [...table.tBodies[0].rows].map((row) => row.cells[at].innerText.replace(/ \u00b1.*/, ''));"""
        ascending = ["45.81 \u00b5s", "919.7 \u00b5s", "1.982 ms", "23.54 ms", "60.76 ms"]
        self.assertEqual(sorted(self.js(column, False)), sorted(ascending))
        self.assertEqual(self.js(column, True), ascending)
        self.assertEqual(self.js(column, True), ascending[::-1])
        self.open("#/profile?name=resnet18_slow_loading.pt.trace.json.gz", "Where the time of a step goes")
        grouped = "return [...document.querySelectorAll('.report table')].find((one) => one.innerText.includes('- data loading')).querySelectorAll('button').length"
        self.assertEqual(self.js(grouped), 0, "the parts of a group stay below it")

    def test_checks_and_bisections_are_reached_from_the_change_and_reports_from_their_session(self):
        self.open(CASE, "bisection: stored bisect")
        self.assertIn("check: stored check", self.text())
        self.js("[...document.querySelectorAll('tbody a')].find((one) => one.textContent.startsWith('bisection')).click()")
        driving.until(lambda: "8fb9dfe9f8 made the change" in self.text(), what="the bisection")
        self.js("[...document.querySelectorAll('.crumbs a')].at(-1).click()")
        driving.until(lambda: "load test: stored load" in self.text(), what="all that was concluded about its session")

    def test_fleet_has_the_acceptance_as_it_was_judged_then(self):
        self.open("#/fleet", "Outliers")
        row = "return [...document.querySelectorAll('tbody tr')].find((one) => one.innerText.startsWith('node1'))"
        self.assertIn("cpu-smoke", self.js(row + ".innerText"))
        self.assertIn(">= 1.00 GB/s", self.whole_text())
        self.js(row + ".querySelectorAll('a')[1].click()")
        driving.until(lambda: "NO RESULT: 3 of 6 criteria are unreliable" in self.text(), what="the acceptance")

    def test_hostile_texts_stay_text(self):
        hostile = plant.hostile_session()
        for address in ("#/now", "#/runs", "#/runs?show=runs", f"#/session?id={hostile['id']}", f"#/run?session={hostile['id']}&index=0", "#/history", "#/fleet",
                        "#/runs?text=%3Cscript%3Ewindow.hacked%3D1%3C%2Fscript%3E", "#/%3Cimg%20src=x%20onerror=alert(1)%3E", f"#/compare?a={hostile['id']}&b={hostile['id']}",
                        "#/case?workload=command&device=host&mode=hot&metric=time&params=" + urllib.parse.quote("command=" + plant.HOSTILE)):
            self.open(address)
            time.sleep(0.3)
            self.assertIsNone(self.js("return window.hacked ?? null"), address)
            self.assertEqual(self.js("return document.querySelectorAll('#main img, #main script, [onerror]').length"), 0, address)
            self.assertEqual(self.js("return [...document.querySelectorAll('a')].filter((one) => !/^(#\\/|#main)/.test(one.getAttribute('href'))).length"), 0, address)
        self.open(f"#/session?id={hostile['id']}")
        self.assertIn(plant.HOSTILE, self.js("return document.querySelector('h1').textContent"))
        BROWSER.get_log("browser")  # the pages that are refused are logged

    def test_is_asked_of_nobody_else_and_forbids_scripts_in_pages(self):
        BROWSER.get_log("performance")
        self.open("#/now", "H100")
        self.open(CASE, "before / after")
        hosts = set()
        for entry in BROWSER.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if url.startswith("http"):
                    hosts.add(url.split("/")[2])
        self.assertEqual(hosts, {f"127.0.0.1:{SERVED.port}"})
        self.js("const made = document.createElement('script'); made.textContent = 'window.inline = 1'; document.body.append(made);")
        self.assertIsNone(self.js("return window.inline ?? null"))
        self.errors_expected = True

    def test_landmarks_labels_and_headings(self):
        for address in every_page():
            self.open(address)
            found = self.js("""
                const unnamed = [...document.querySelectorAll('a, button, input, select, canvas, iframe, meter')].filter((one) =>
                    !(one.getAttribute('aria-label') || one.title || one.labels?.length || one.textContent.trim()));
                return {main: document.querySelectorAll('main').length, nav: document.querySelectorAll('header nav').length, foot: document.querySelectorAll('footer').length,
                        h1: document.querySelectorAll('h1').length, lang: document.documentElement.lang, current: document.querySelectorAll('nav [aria-current=page]').length,
                        unnamed: unnamed.map((one) => one.outerHTML.slice(0, 120)), title: document.title}""")
            self.assertEqual({key: found[key] for key in ("main", "nav", "foot", "h1", "lang", "current", "unnamed")},
                             {"main": 1, "nav": 1, "foot": 1, "h1": 1, "lang": "en", "current": 1, "unnamed": []}, address)
            self.assertRegex(found["title"], r".+ - warpmark$")
        tree = BROWSER.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = {node.get("role", {}).get("value") for node in tree}
        self.assertLessEqual({"main", "navigation", "banner", "contentinfo", "heading"}, roles)

    def test_contrast_in_light_and_dark(self):
        # WCAG 2.1: relative luminance and contrast ratio; 4.5 for text.
        measure = """
            const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
            const parse = (text) => text.match(/[\\d.]+/g).map(Number);
            const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
            const ground = (one) => { for (; one; one = one.parentElement) { const c = parse(getComputedStyle(one).backgroundColor); if (c.length < 4 || c[3] === 1) return c; } return parse(getComputedStyle(document.body).backgroundColor); };
            const low = [];
            const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) {
              const one = walk.currentNode.parentElement;
              if (!walk.currentNode.textContent.trim() || !one.getClientRects().length || ['SCRIPT', 'OPTION'].includes(one.tagName) || one.disabled) continue;
              const [x, y] = [light(parse(getComputedStyle(one).color)), light(ground(one))];
              const ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
              if (ratio < 4.5) low.push(one.tagName + ' ' + walk.currentNode.textContent.slice(0, 40) + ' ' + ratio.toFixed(2));
            }
            return low;"""
        for scheme in ("light", "dark"):
            self.emulate(scheme=scheme)
            for address in every_page():
                self.open(address)
                self.assertEqual(self.js(measure), [], f"{address} {scheme}")
        self.open(CASE)
        dark = self.js("return getComputedStyle(document.body).backgroundColor")
        self.assertGreater(len(self.coloured("--c0")), 50, "the chart has the dark scheme's colours")
        self.emulate(scheme="light")
        self.assertNotEqual(self.js("return getComputedStyle(document.body).backgroundColor"), dark)
        driving.until(lambda: len(self.coloured("--c0")) > 50, what="the chart in the light scheme's colours, drawn anew")

    def test_fits_a_phone(self):
        self.emulate(width=390)
        hostile = plant.hostile_session()["id"]
        for address in [*every_page(), f"#/session?id={hostile}", f"#/run?session={hostile}&index=0"]:
            self.open(address)
            self.assertEqual(self.js(driving.TOO_WIDE), [], address)
            self.assertEqual(driving.FORBIDDEN.findall(self.text()), [], address)
            at = self.js("const one = document.querySelector('#nav [aria-current]').getBoundingClientRect(); return [one.left, one.right]")
            self.assertTrue(0 <= at[0] and at[1] <= 390, f"{address}: the page's name is in sight, at {at}")

    def test_long_lists_do_not_scroll_sideways_on_a_phone(self):
        self.emulate(width=390)
        for address, least in (("#/runs", 21), ("#/runs?show=runs", 100), ("#/history", 5)):
            self.open(address)
            self.assertGreaterEqual(self.js("return document.querySelectorAll('#list tbody tr').length"), least, address)
            wide = "return [...document.querySelectorAll('#list .scroll')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
            self.assertEqual(self.js(wide), 0, address)

    def test_is_used_by_keyboard_alone(self):
        from selenium.webdriver.common.keys import Keys
        from selenium.webdriver.common.action_chains import ActionChains

        def press(*keys):
            for key in keys:
                ActionChains(BROWSER).send_keys(key).perform()

        focused = lambda: self.js("const one = document.activeElement; return (one.textContent || one.getAttribute('aria-label') || one.tagName).trim()")
        self.open(CASE)
        order = []
        for _ in range(9):
            press(Keys.TAB)
            order.append(focused())
            outline = self.js("const style = getComputedStyle(document.activeElement); return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0")
            self.assertTrue(outline, f"focus on {order[-1]} can be seen")
        self.assertEqual(order[:9], ["Skip to the content", "warpmark", "Now", "Runs", "History", "Compare", "Fleet", "Profiles", "Reports"])
        self.js("document.querySelector('canvas').focus()")
        press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
        said = self.js("return document.querySelector('[aria-live=polite].quiet, p[aria-live]').textContent")
        self.assertIn(SESSIONS[57]["started"], said)
        press(Keys.ENTER)
        driving.until(lambda: SESSIONS[57]["id"] in BROWSER.current_url, what="the run under the keys")
        driving.until(lambda: self.js("return document.activeElement.tagName") == "H1", what="the new page's heading in focus")
        BROWSER.back()
        driving.until(lambda: "#/case" in BROWSER.current_url, what="the way back")

    def test_focus_goes_in_the_order_of_every_page_and_can_be_seen(self):
        from selenium.webdriver.common.keys import Keys
        from selenium.webdriver.common.action_chains import ActionChains
        probe = """
            const one = document.activeElement, style = getComputedStyle(one), before = window.lastFocus;
            window.lastFocus = one;
            return {name: one.outerHTML.slice(0, 100), seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
                    follows: !before?.isConnected || !!(before.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING), leaves: one === document.body || one.tagName === 'IFRAME'}"""
        for address in every_page():
            self.open(address)
            self.js("window.lastFocus = null; document.activeElement?.blur(); window.scrollTo(0, 0)")
            self.assertEqual(self.js("return [...document.querySelectorAll('[tabindex]')].filter((one) => one.tabIndex > 0).length"), 0, "the document's order is the order")
            passed = 0
            for _ in range(24):
                ActionChains(BROWSER).send_keys(Keys.TAB).perform()
                found = self.js(probe)
                if found["leaves"]:
                    break
                self.assertTrue(found["follows"], f"{address}: {found['name']}")
                self.assertTrue(found["seen"], f"{address}: {found['name']}")
                passed += 1
            self.assertGreaterEqual(passed, 9, f"{address}: the link to the content, the brand and the pages")

    def test_problems_are_told_on_the_page(self):
        self.errors_expected = True
        self.assertIn("there is no run 7777", self.open(f"#/run?session={SESSIONS[0]['id']}&index=7777"))
        self.assertIn("There is no page 'nowhere'", self.open("#/nowhere"))
        self.assertIn("no session", self.open("#/compare?a=nobody&b=nobody").replace("matches", "no session"))


class Trouble(unittest.TestCase):
    """A database that comes and goes, and clients that mean no good."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="warpmark-trouble-")
        self.database = os.path.join(self.folder, "own.db")
        self.served = None

    def serve(self, *arguments):
        self.served = driving.Dashboard(WARPMARK, "--db", self.database, *arguments)
        return self.served

    def tearDown(self):
        if self.served:
            self.assertEqual(self.served.stop(), 0)
        shutil.rmtree(self.folder, ignore_errors=True)

    def page_text(self):
        return BROWSER.execute_script("return document.body.innerText")

    def test_database_missing_locked_gone_and_back(self):
        served = self.serve()
        BROWSER.get(served.url + "#/runs")
        driving.until(lambda: "there is no database at" in self.page_text(), what="why nothing is shown")
        plant.plant(WARPMARK, self.database, self.folder, list(plant.history(3)))
        driving.until(lambda: "warpmark run --suite nightly" in self.page_text(), what="the sessions, without a reload")
        BROWSER.get(served.url + "#/now")
        driving.until(lambda: "warpmark run --suite nightly" in self.page_text(), what="the newest sessions")
        locked = sqlite3.connect(self.database, isolation_level=None)
        locked.execute("PRAGMA locking_mode = EXCLUSIVE")
        locked.execute("BEGIN EXCLUSIVE")
        locked.execute("CREATE TABLE held (x)")
        try:
            urllib.request.urlopen(served.url + "api/sessions", timeout=30).read()
            locks_readers = False  # in WAL mode readers go on beside a writer
        except urllib.error.HTTPError as error:
            locks_readers = True
            self.assertEqual(error.code, 503)
            self.assertIn("locked", error.read().decode())
        if locks_readers:
            driving.until(lambda: "is locked by" in self.page_text(), what="the lock on the page")
        locked.execute("ROLLBACK")
        locked.close()
        driving.until(lambda: "is locked by" not in self.page_text(), what="the end of the lock")
        aside = self.database + ".aside"
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(self.database + ending):
                os.rename(self.database + ending, aside + ending)
        driving.until(lambda: "there is no database at" in self.page_text(), what="that it is gone")
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(aside + ending):
                os.rename(aside + ending, self.database + ending)
        driving.until(lambda: "there is no database at" not in self.page_text(), what="that it is back")

    def test_a_full_disk_is_told_and_over_where_there_is_room_again(self):
        plant.plant(WARPMARK, self.database, self.folder, list(plant.history(3)))
        small = os.path.join(self.folder, "small")
        os.mkdir(small)
        alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
        mount = 'mount -t tmpfs -o size=4m tmpfs "$1"'
        if subprocess.run([*alone, mount, "sh", small], capture_output=True).returncode != 0:
            self.skipTest("no file system of its own can be mounted here")
        fill = ' && cp "$2" "$1/full.db" && { dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null; exec "$3" dashboard --port 0 --db "$1/full.db"; }'
        self.served = served = driving.Dashboard(None, command=[*alone, mount + fill, "sh", small, self.database, WARPMARK])
        with self.assertRaises(urllib.error.HTTPError) as caught:
            ask("api/sessions", served)
        self.assertEqual(caught.exception.code, 503)
        self.assertIn("the disk is full", caught.exception.read().decode())
        caught.exception.close()
        BROWSER.get(served.url + "#/runs")
        driving.until(lambda: "the disk is full" in self.page_text(), what="the full disk on the page")
        os.remove(f"/proc/{served.process.pid}/root{small}/fill")
        driving.until(lambda: "warpmark run --suite nightly" in self.page_text(), what="the sessions, without a reload")

    def test_a_file_that_is_no_database_is_named(self):
        with open(self.database, "w", encoding="ascii") as file:
            file.write("no database at all " * 100)
        served = self.serve()
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(served.url + "api/sessions", timeout=30)
        self.assertIn("is not a warpmark database", caught.exception.read().decode())
        caught.exception.close()

    def test_a_clock_that_leaps_is_told_and_results_of_the_future_are_shown(self):
        library = os.path.join(os.path.dirname(WARPMARK), "tests", "libwarpmark_pretend.so")
        if is_sanitized() or not os.path.exists(library):
            self.skipTest("nothing here makes a clock leap")
        ahead = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=400)).strftime("%Y-%m-%dT%H:%M:%SZ")
        future = plant.session_of(777, ahead, command="warpmark run of the future", runs=[plant.run_of("x", 0, "gemm", {"m": 1}, [1.0, 1.1, 1.2] * 3, ahead)])
        plant.plant(WARPMARK, self.database, self.folder, [*plant.history(3), future])
        leaping = {"LD_PRELOAD": library, "PRETEND_CLOCK": "jumping", "PRETEND_START": str(time.monotonic_ns())}
        self.served = served = driving.Dashboard(WARPMARK, "--db", self.database, environment=leaping)
        BROWSER.get(served.url + "#/now")
        driving.until(lambda: "was set forward by 60 min" in self.page_text(), seconds=60, what="that the clock leapt")
        self.assertIn("warpmark run of the future", self.page_text())
        moment = lambda: BROWSER.execute_script("return document.getElementById('live-time').textContent")
        first = moment()
        driving.until(lambda: moment() != first, what="later values")
        for address in ("#/runs", "#/history", "#/fleet", f"#/session?id={future['id']}"):
            BROWSER.get("about:blank")
            BROWSER.get(served.url + address)
            driving.until(lambda: "of the future" in self.page_text() or "gemm" in self.page_text() or "node1" in self.page_text(), what=address)
            self.assertNotIn("This cannot be shown", self.page_text())

    def test_the_end_of_the_dashboard_is_seen(self):
        plant.plant(WARPMARK, self.database, self.folder, list(plant.history(2)))
        served = self.serve()
        BROWSER.get(served.url + "#/now")
        driving.until(lambda: " UTC" in self.page_text(), what="live values")
        self.assertEqual(served.stop(), 0)
        self.served = None
        driving.until(lambda: "connection lost" in self.page_text(), what="the loss")

    def test_reads_only_and_gives_no_file(self):
        plant.plant(WARPMARK, self.database, self.folder, list(plant.history(2)))
        files = os.path.join(self.folder, "shown")
        os.mkdir(files)
        os.symlink("/etc/passwd", os.path.join(files, "link.json"))
        served = self.serve("--files", files)
        for path in ("../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "..%2f..%2fetc/passwd", "web/app.ts", "api/../api/sessions", "api/", "//etc/passwd", "timeline.html"):
            self.assertIn(raw(served.port, f"GET /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").split(b" ")[1], (b"400", b"404"), path)
        for name in ("../own.db", "/etc/passwd", "link.json", "..%2fown.db", "%00"):
            for what in ("document", "profile"):
                answer = raw(served.port, f"GET /api/{what}?name={name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                self.assertEqual(answer.split(b" ")[1], b"400", name)
                self.assertNotIn(b"root:", answer)
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"):
            self.assertEqual(raw(served.port, f"{method} /api/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").split(b" ")[1], b"405", method)
        self.assertEqual(raw(served.port, "GET / HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n\r\n").split(b" ")[1], b"421", "a name that was made to point here")
        answer = raw(served.port, "GET /api/runs?text=%0d%0aSet-Cookie:%20x=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertNotIn(b"Set-Cookie", answer)
        with open(self.database, "rb") as file:
            before = file.read()
        ask("api/sessions", served)
        with open(self.database, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_slow_large_and_many_clients_do_not_stop_it(self):
        plant.plant(WARPMARK, self.database, self.folder, list(plant.history(3)))
        served = self.serve()
        ask("api/sessions", served)
        slow = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(50)]
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nHost: loc")
        listeners = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(200)]
        for one in listeners:
            one.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for one in listeners:  # none of them takes all that it is sent; each gets the header and an event
            one.settimeout(30)
            got = b""
            while b"data: " not in got:
                part = one.recv(4096)
                self.assertTrue(part, got)
                got += part
        large = socket.create_connection(("127.0.0.1", served.port))
        try:
            large.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * (10 << 20))
        except OSError:
            pass  # hung up on, as it should be
        large.close()
        for _ in range(20):
            begin = time.monotonic()
            self.assertIn("warpmark.sessions/1", ask("api/sessions", served))
            self.assertLess(time.monotonic() - begin, 10)
        memory = served.memory_kib()
        for one in slow:
            one.settimeout(30)
            while one.recv(4096):  # ended by the server: a request has 10 s
                pass
            one.close()
        for one in listeners:
            one.close()
        if not is_sanitized():  # a sanitizer keeps what was freed
            self.assertLess(memory, 400 << 10)
        self.assertIn("warpmark.sessions/1", ask("api/sessions", served))

    def test_beyond_loopback_it_needs_a_token_and_tls(self):
        database = os.path.join(self.folder, "refused.db")
        command = [WARPMARK, "dashboard", "--host", "0.0.0.0", "--port", "0", "--db", database]
        refused = lambda *options: subprocess.run([*command, *options], capture_output=True, text=True, timeout=60)
        self.assertIn("without a token", refused().stderr)
        token = os.path.join(self.folder, "token")
        with open(token, "w", encoding="ascii") as file:
            file.write("0123456789abcdef0123\n")
        self.assertIn("without TLS", refused("--token-file", token).stderr)
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        certificate, key = os.path.join(self.folder, "cert.pem"), os.path.join(self.folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        plant.plant(WARPMARK, self.database, self.folder, list(plant.history(2)))
        served = self.serve("--host", "0.0.0.0", "--token-file", token, "--tls-cert", certificate, "--tls-key", key)
        trusted = ssl.create_default_context(cafile=certificate)
        url = f"https://127.0.0.1:{served.port}/api/sessions"
        self.assertTrue(served.url.startswith("https://"))
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url, context=trusted, timeout=30)
        self.assertEqual(caught.exception.code, 401)
        caught.exception.close()
        basic = {"Authorization": "Basic " + base64.b64encode(b"anybody:0123456789abcdef0123").decode()}
        with urllib.request.urlopen(urllib.request.Request(url, headers=basic), context=trusted, timeout=30) as answer:
            self.assertIn("nightly", answer.read().decode())
        self.assertEqual(raw(served.port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), b"", "no plain HTTP")
        BROWSER.get(f"https://any:0123456789abcdef0123@127.0.0.1:{served.port}/#/runs")
        driving.until(lambda: "nightly" in self.page_text(), what="the page over TLS")


class Export(unittest.TestCase):
    def test_opens_from_a_disk_with_everything_in_it(self):
        folder = os.path.join(FOLDER, "site")
        done = subprocess.run([WARPMARK, "dashboard", "--export", folder, "--db", DATABASE, "--files", os.path.join(FOLDER, "files")], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = "file://" + folder + "/index.html"
        show = lambda address: (BROWSER.get("about:blank"), BROWSER.get(page + address))
        text = lambda: BROWSER.execute_script("return document.body.innerText")
        BROWSER.get_log("browser")
        for address, wanted in (("#/now", "+"), ("#/runs", "warpmark run --suite nightly"), ("#/runs?show=runs&outcome=failed", "sum size=64"),
                                ("#/history", "copy size=67108864"), (CASE, "before / after"), ("#/fleet", "node4"), (f"#/run?session={SESSIONS[50]['id']}&index=0", "time over time"),
                                (f"#/compare?a={SESSIONS[49]['id']}&b={SESSIONS[50]['id']}", "B is"), (f"#/session?id={SESSIONS[50]['id']}", "gemm m=1024"),
                                ("#/profile?name=resnet18_slow_loading.pt.trace.json.gz", "Where the time of a step goes"), ("#/reports?kind=matrix&name=sub%2Fmatrix.json", "Best p50"),
                                (f"#/reports?kind=bisect&session={SESSIONS[plant.SLOW_FROM]['id']}&index=5", "8fb9dfe9f8 made the change"), ("#/reports?kind=others&name=sub%2Funknown.json", "warpmark.unknown/1"), ("#/reports?kind=optimizations", "stored optimization")):
            show(address)
            driving.until(lambda: wanted in text(), what=f"{wanted} at {address}")
            self.assertIsNone(BROWSER.execute_script("return window.hacked ?? null"))
        severe = [entry["message"] for entry in BROWSER.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(severe, [])


def raw(port, request):
    """All that the server sends until it hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(request.encode())
        got = b""
        try:
            while part := client.recv(65536):
                got += part
        except ConnectionResetError:
            pass
        return got


if __name__ == "__main__":
    WARPMARK, MOCK_NVML = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    problem = driving.why_not()
    if problem:
        print("skipped:", problem)
        sys.exit(77)
    unittest.main(verbosity=2)
