"""`warpmark mcp` as agents use it, and as nobody should. Usage: mcp_test.py WARPMARK [UNITTEST ARGUMENTS]"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from mcp_client import MODERN, Client

WARPMARK = os.path.abspath(sys.argv.pop(1)) if __name__ == "__main__" else ""
SOURCE = pathlib.Path(__file__).resolve().parents[2]
MOCK_CUPTI = pathlib.Path(WARPMARK).parent / "mock_cupti"  # a GPU that is played, where CUPTI's headers are
TRACE = SOURCE / "examples/traces/resnet18_slow_loading.pt.trace.json.gz"



def python_with_torch(pythons, longest_s=120):
    """Looked for and not imported, which takes long; None if there is none of 1.13 or newer."""
    look = ("import importlib.util, os, runpy, sys; found = importlib.util.find_spec('torch'); found or sys.exit(1); "
            "version = runpy.run_path(os.path.join(os.path.dirname(found.origin), 'version.py'))['__version__']; "
            "sys.exit([int(n) for n in version.split('.')[:2]] < [1, 13])")
    for python in pythons:
        try:
            if subprocess.run([python, "-c", look], capture_output=True, timeout=longest_s).returncode == 0:
                return python
        except (OSError, subprocess.TimeoutExpired):
            continue  # not installed, or hung in an import
    return None


PYTHON_WITH_TORCH = python_with_torch((sys.executable, "python3", "/usr/bin/python3"))

CONFIG = f"""
schema: warpmark.mcp/1
folders: [., {TRACE.parent}]
db: results.db
longest: 100s
commands:
  quick: {{run: [{sys.executable}, quick.py, '{{size}}'], settings: {{size: [1, 2]}}}}
  slow: {{run: [{sys.executable}, slow.py]}}
  slept: {{run: [{sys.executable}, slept.py]}}
  played: {{run: [./played, '{{seconds}}', exit=0], settings: {{seconds: [4, 5]}}}}
"""

# Leaves a child in a session of its own, as launchers and data loaders do.
SLOW = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
pathlib.Path("pids.part").write_text(f"{os.getpid()} {child.pid}")
os.rename("pids.part", "pids")
time.sleep(600)
"""


# A training that waits for its data, without a GPU.
TRAIN = """
import time, torch
class Slow(torch.utils.data.Dataset):
    def __len__(self): return 400
    def __getitem__(self, i):
        time.sleep(0.002)
        return torch.randn(16), i % 4
model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for x, y in torch.utils.data.DataLoader(Slow(), batch_size=8):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


# A program without PyTorch, whose garbage collector has nothing to do.
SLEPT = """
import time
time.sleep(0.2)
"""


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(true, seconds=30):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class McpTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="warpmark mcp ")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "mcp.yaml").write_text(CONFIG)
        (self.path / "quick.py").write_text("import sys; sum(range(1000 * int(sys.argv[1])))\n")
        (self.path / "slow.py").write_text(SLOW)
        (self.path / "slept.py").write_text(SLEPT)
        (self.path / "played").symlink_to(MOCK_CUPTI / "mock_program")  # its folder may have blanks in its name

    def client(self, *arguments, **variables):
        environment = {**os.environ, "HOME": str(self.path), "WARPMARK_DB": str(self.path / "test.db"), **variables}
        client = Client(WARPMARK, arguments or ("--config", str(self.path / "mcp.yaml")), cwd=self.path, env=environment)
        self.addCleanup(self.end, client)
        return client

    def end(self, client):
        client.close()
        self.assertEqual(client.broken_lines, [])

    def started_slow(self, client, method, params):
        number = client.start(method, params)
        self.assertTrue(wait_until((self.path / "pids").exists))
        return number, [int(word) for word in (self.path / "pids").read_text().split()]


class OfficialClient(McpTest):
    """By @modelcontextprotocol/sdk, where npm has installed it: in the folder that WARPMARK_MCP_SDK names, or globally."""

    def sdk(self):
        folders = [os.environ.get("WARPMARK_MCP_SDK"), "/usr/local/lib", "/usr/lib"]
        for folder in filter(None, folders):
            if pathlib.Path(folder, "node_modules/@modelcontextprotocol/sdk").exists():
                return folder
        self.skipTest("npm install @modelcontextprotocol/sdk, and name the folder in WARPMARK_MCP_SDK")

    def test_every_structured_answer_fits_its_schema(self):
        words = ["node", SOURCE / "tests/mcp/official_client.mjs", self.sdk(), WARPMARK, self.path / "mcp.yaml", TRACE]
        if PYTHON_WITH_TORCH:
            (self.path / "mcp.yaml").write_text(CONFIG + f"  train: {{run: [{PYTHON_WITH_TORCH}, train.py]}}\n")
            (self.path / "train.py").write_text(TRAIN)
            words.append("train")
        done = subprocess.run(words, capture_output=True, text=True, timeout=500,
                              env={**os.environ, "WARPMARK_DB": str(self.path / "test.db")})
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual((said["server"], said["doctor"], said["analyze"], said["rows"]),
                         ("warpmark", "warpmark.doctor/1", "warpmark.analysis/1", 3))
        self.assertEqual(said["schemas"], said["tools"])
        if PYTHON_WITH_TORCH:
            self.assertIn(said["profile"], ("warpmark.analysis/1", "warpmark.knobs/1"))
            self.assertTrue(said["next"])


class LookForTorch(unittest.TestCase):
    def test_goes_on_where_an_interpreter_is_missing_or_hangs(self):
        with tempfile.TemporaryDirectory() as folder:
            played = {"hangs": "exec sleep 60", "has_torch": "exit 0"}
            for name, text in played.items():
                program = pathlib.Path(folder, name)
                program.write_text(f"#!/bin/sh\n{text}\n")
                program.chmod(0o755)
            missing, hangs, has_torch = (os.path.join(folder, name) for name in ("missing", *played))
            self.assertEqual(python_with_torch((missing, hangs, has_torch), longest_s=2), has_torch)
            self.assertIsNone(python_with_torch((missing, hangs), longest_s=2))


class Protocol(McpTest):
    def test_a_session_with_a_handshake(self):
        client = self.client()
        result = client.initialize("2025-06-18")
        self.assertEqual(result["protocolVersion"], "2025-06-18")
        self.assertEqual(result["serverInfo"]["name"], "warpmark")
        self.assertIn("tools", result["capabilities"])
        self.assertEqual(client.ask("ping")["result"], {})
        tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
        self.assertEqual(list(tools), ["doctor", "run", "profile", "analyze", "query", "compare", "check", "optimize",
                                       "history"])
        for tool in tools.values():
            self.assertEqual(tool["inputSchema"]["type"], "object")
            self.assertFalse(tool["inputSchema"]["additionalProperties"])
            self.assertGreater(len(tool["description"]), 40)
        self.assertEqual(tools["run"]["inputSchema"]["properties"]["command"]["enum"], ["quick", "slow", "slept", "played"])
        self.assertTrue(tools["analyze"]["annotations"]["readOnlyHint"])
        self.assertEqual(client.ask("resources/list")["error"]["code"], -32601)

    def test_an_unknown_version_is_answered_with_the_newest_that_has_a_handshake(self):
        self.assertEqual(self.client().initialize("1999-01-01")["protocolVersion"], "2025-11-25")
        self.assertEqual(self.client().initialize("2025-03-26")["protocolVersion"], "2025-03-26")

    def test_without_a_handshake(self):
        client = self.client()
        found = client.modern("server/discover")["result"]
        self.assertEqual(found["supportedVersions"], [MODERN])
        self.assertEqual(found["resultType"], "complete")
        tools = client.modern("tools/list")["result"]
        self.assertEqual((len(tools["tools"]), tools["cacheScope"]), (9, "private"))
        self.assertGreater(tools["ttlMs"], 0)
        result = client.modern("tools/call", {"name": "doctor"})["result"]
        self.assertEqual(result["structuredContent"]["schema"], "warpmark.doctor/1")
        self.assertEqual(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "warpmark")
        refused = client.modern("tools/list", version="2031-01-01")["error"]
        self.assertEqual((refused["code"], refused["data"]["supported"]), (-32022, [MODERN]))
        no_capabilities = {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}
        self.assertEqual(client.ask("tools/list", no_capabilities)["error"]["code"], -32602)
        self.assertEqual(client.modern("ping")["error"]["code"], -32601)

    def test_a_version_is_asked_for(self):
        error = self.client().ask("tools/list")["error"]
        self.assertEqual(error["code"], -32602)
        self.assertIn("initialize", error["message"])

    def test_the_oldest_version_gets_the_json_as_text(self):
        client = self.client()
        client.initialize("2024-11-05")
        result = client.call("doctor")
        self.assertNotIn("structuredContent", result)
        self.assertEqual(json.loads(result["content"][1]["text"])["schema"], "warpmark.doctor/1")

    def test_the_end_of_the_input_ends_it_and_all_that_runs(self):
        client = self.client()
        client.initialize()
        _, pids = self.started_slow(client, "tools/call", {"name": "run", "arguments": {"command": "slow"}})
        self.assertEqual(client.close(), 0)
        self.assertTrue(wait_until(lambda: not any(is_alive(pid) for pid in pids)))

    def test_without_a_configuration_nothing_can_be_started(self):
        checked = subprocess.run([WARPMARK, "mcp", "--check"], cwd=self.path, capture_output=True, text=True, timeout=60)
        self.assertEqual(checked.returncode, 0)
        self.assertIn("none; a configuration names them", checked.stdout)
        client = Client(WARPMARK, (), cwd=self.path)
        self.addCleanup(self.end, client)
        client.initialize()
        tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
        self.assertNotIn("profile", tools)
        self.assertNotIn("command", tools["run"]["inputSchema"]["properties"])
        refused = client.call("run", command="quick")
        self.assertTrue(refused["isError"])
        self.assertIn("its owner can add some", refused["content"][0]["text"])


class Tools(McpTest):
    def setUp(self):
        super().setUp()
        self.agent = self.client()
        self.agent.initialize()

    def answer(self, tool, schema, **arguments):
        result = self.agent.call(tool, **arguments)
        self.assertFalse(result["isError"], result["content"][0]["text"])
        self.assertEqual(result["structuredContent"].get("schema"), schema)
        self.assertLess(len(result["content"][0]["text"]), 9000)
        return result

    def test_analyze_and_query(self):
        result = self.answer("analyze", "warpmark.analysis/1", paths=[str(TRACE)], top=1)
        self.assertEqual(result["structuredContent"]["findings"][0]["rule"], "data_loading")
        self.assertIn("input data", result["content"][0]["text"])
        rows = self.answer("query", None, paths=[str(TRACE)],
                           sql="SELECT count(*) AS n FROM sqlite_master WHERE type = 'table'")["structuredContent"]["rows"]
        self.assertGreater(rows[0]["n"], 3)
        many = self.answer("query", None, paths=[str(TRACE)], sql="SELECT name, duration_ns FROM events")
        self.assertEqual(len(many["structuredContent"]["rows"]), 100)
        few = self.answer("query", None, paths=[str(TRACE)], sql="SELECT name, duration_ns FROM events", limit=5)
        self.assertEqual(len(few["structuredContent"]["rows"]), 5)
        self.assertEqual(few["structuredContent"]["rows_left_out"], many["structuredContent"]["rows_left_out"] + 95)
        self.assertRegex(few["content"][0]["text"], r"^5 rows of \d+\. Ask for less: .*\n\|.*name.*\|\n\| --- \|")

    def test_a_query_that_would_answer_too_much_is_limited_before_it_answers(self):
        def query(sql, **limit):
            result = self.agent.call("query", paths=[str(TRACE)], sql=sql, **limit)
            self.assertLess(len(json.dumps(result)), 8 << 20)
            return result

        # 40 MB in 20,000 rows, and a control character takes six bytes of JSON
        many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000) SELECT x, {} AS t FROM n"
        for text in ("printf('%.*c', 2000, 'y')", "replace(printf('%.*c', 2000, 'y'), 'y', char(1))"):
            result = query(many.format(text), limit=20000)
            answer = result["structuredContent"]
            self.assertEqual((len(answer["rows"]) + answer["rows_left_out"], answer["all_rows_counted"]), (20000, True))
            self.assertEqual([row["x"] for row in answer["rows"]], list(range(1, len(answer["rows"]) + 1)))
            self.assertGreater(len(answer["rows"]), 400)
            self.assertRegex(result["content"][0]["text"], r"^\d+ rows of 20000\. Ask for less: WHERE, GROUP BY")
        endless = query(many.format("1").replace(" LIMIT 20000", ""))
        self.assertFalse(endless["structuredContent"]["all_rows_counted"])
        self.assertRegex(endless["content"][0]["text"], r"^100 rows of more than \d+\. Ask")
        long = query("SELECT group_concat(name) AS names FROM (SELECT name FROM events, (SELECT 1 UNION SELECT 2 UNION SELECT 3))")
        self.assertTrue(long["isError"])
        self.assertRegex(long["content"][0]["text"], r"the first row has \d+ bytes, and an answer has at most 1048576")
        self.assertIn("substr(name, 1, 1000)", long["content"][0]["text"])
        wide = query("SELECT " + ", ".join(f"name AS name_{i}" for i in range(1000)) + " FROM events", limit=3)
        self.assertLess(len(wide["content"][0]["text"]), 9000)

    def test_every_tool_says_what_its_answers_are(self):
        tools = {tool["name"]: tool["outputSchema"] for tool in self.agent.ask("tools/list")["result"]["tools"]}
        for name, schema in tools.items():
            self.assertEqual(schema["type"], "object", name)
        self.assertEqual(tools["query"]["required"], ["rows", "rows_left_out", "all_rows_counted"])
        answer = self.answer("doctor", "warpmark.doctor/1")["structuredContent"]
        self.assertIn(answer["schema"], tools["doctor"]["properties"]["schema"]["enum"])

    def test_run_compare_check_and_history(self):
        result = self.answer("run", "warpmark.results/1", command="quick", settings={"size": 2}, rounds=2)
        self.assertIn("quick.py 2", json.dumps(result["structuredContent"]))
        compared = self.answer("compare", "warpmark.compare/1", rounds=2, effect="5%",
                               a={"command": "quick"}, b={"command": "quick", "settings": {"size": 2}})
        self.assertIn(compared["_meta"]["warpmark/exitCode"], (0, 1, 3, 5))
        listed = self.answer("history", "warpmark.sessions/1", limit=5)["structuredContent"]["sessions"]
        self.assertGreaterEqual(len(listed), 1)
        self.answer("history", "warpmark.results/1", show="session", session=listed[0]["id"])
        self.answer("history", "warpmark.trend/1", show="trend", branch="all")
        checked = self.answer("check", "warpmark.check/1")
        self.assertEqual(checked["_meta"]["warpmark/exitCode"], 3)  # there is no history yet
        self.answer("run", "warpmark.results/1", workloads=["copy"], device="cpu", budget="1s", rounds=1,
                    set={"size": "64KiB"})

    @unittest.skipUnless((MOCK_CUPTI / "mock_program").exists(), "the recorder is built where CUPTI's headers are")
    def test_profile_records_and_diagnoses(self):
        agent = self.client(WARPMARK_CUPTI=str(MOCK_CUPTI / "libmock_cupti.so"))
        agent.initialize()
        result = agent.call("profile", command="played", settings={"seconds": 5}, delay="200ms", duration="1s")
        self.assertFalse(result["isError"], result["content"][0]["text"])
        analysis = result["structuredContent"]
        self.assertEqual(analysis["schema"], "warpmark.analysis/1")
        self.assertGreater(analysis["session"]["steps"], 10)
        self.assertEqual(result["_meta"]["warpmark/exitCode"], 0)
        recordings = list((self.path / "warpmark-recordings").glob("played-*.wmrec"))
        self.assertEqual(len(recordings), 1)
        self.assertIn(recordings[0].name, result["content"][0]["text"])  # where analyze and query find it again
        again = agent.call("query", paths=[str(recordings[0])], sql="SELECT count(*) AS n FROM kernels")
        self.assertGreater(again["structuredContent"]["rows"][0]["n"], 30)

    def test_optimize_measures_a_program_without_torch_whole(self):
        result = self.answer("optimize", "warpmark.optimization/1", command="slept", rounds=7, effect="50%")
        optimization = result["structuredContent"]
        self.assertEqual((optimization["times_of"], optimization["complete"]), ("run", True))
        self.assertIn("slept.py", optimization["program"])
        self.assertGreater(optimization["baseline"]["seconds_per_step"], 0.2)
        self.assertGreaterEqual(optimization["cost"]["runs"], 1)
        self.assertEqual(result["_meta"]["warpmark/exitCode"], 0)  # that nothing was gained is an answer
        self.assertIn("nothing was gained", result["content"][0]["text"])

    @unittest.skipUnless(PYTHON_WITH_TORCH, "no python3 here has torch 1.13 or newer (Debian: python3-torch)")
    def test_optimize_looks_at_a_training_and_keeps_to_its_budget(self):
        (self.path / "mcp.yaml").write_text(CONFIG + f"""
  train: {{run: [{PYTHON_WITH_TORCH}, train.py, --samples, '32', --delay-ms, '20']}}
""")
        shutil.copy(SOURCE / "examples/optimize/train.py", self.path)
        agent = self.client()
        agent.initialize()
        result = agent.call("optimize", command="train", only=["loader.workers"], rounds=7, steps=4, effect="10%",
                            budget="30s")
        self.assertFalse(result["isError"], result["content"][0]["text"])
        optimization = result["structuredContent"]
        self.assertEqual(optimization["schema"], "warpmark.optimization/1")
        self.assertTrue(optimization["torch"])
        self.assertGreaterEqual(optimization["cost"]["runs"], 1)
        if optimization["complete"]:  # else the budget was used up before, on a busy machine by the baselines
            self.assertGreater(optimization["baseline"]["phases"]["data"], 0.5)
        self.assertIn(result["_meta"]["warpmark/exitCode"], (0, 1, 3))

    @unittest.skipIf(pathlib.Path("/proc/driver/nvidia/version").exists(), "there is a GPU")
    def test_why_a_training_is_slow_is_answered_without_a_gpu(self):
        if not PYTHON_WITH_TORCH:
            self.skipTest("there is no Python with PyTorch")
        (self.path / "mcp.yaml").write_text(CONFIG + f"  train: {{run: [{PYTHON_WITH_TORCH}, train.py]}}\n")
        (self.path / "train.py").write_text(TRAIN)
        agent = self.client()
        agent.initialize()
        result = agent.call("profile", command="train")
        self.assertFalse(result["isError"], result["content"][0]["text"])
        self.assertEqual(result["structuredContent"]["schema"], "warpmark.knobs/1")
        first = result["structuredContent"]["knobs"][0]
        self.assertEqual(first["id"], "loader.workers")
        self.assertGreater(first["values"][0]["low"], 1.2)
        self.assertIn("wait for data", first["values"][0]["method"])
        self.assertIn("Next: call optimize", result["content"][0]["text"])

    @unittest.skipIf(pathlib.Path("/proc/driver/nvidia/version").exists(), "there is a GPU")
    def test_a_program_that_sleeps_is_named_as_such_without_a_gpu(self):
        (self.path / "slept.py").write_text("import time\n\n\ndef wait_for_data():\n    time.sleep(1)\n\n\nwait_for_data()\n")
        result = self.answer("profile", "warpmark.knobs/1", command="slept")
        host = result["structuredContent"]["host"]
        self.assertLess(host["processors_used"], 0.8)
        first = host["waits"][0]
        self.assertEqual((first["kind"], first["line"], first["function"]), ("sleep", 5, "wait_for_data"))
        self.assertTrue(first["file"].endswith("slept.py"))
        self.assertGreater(first["share"], 0.3)
        self.assertRegex(" ".join(result["content"][0]["text"].split()),
                         r"It sleeps \d+ % of the time in /.*/slept.py:5 \(wait_for_data\)")
        (self.path / "quick.py").write_text("import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\n")
        host = self.answer("profile", "warpmark.knobs/1", command="quick", settings={"size": 1})["structuredContent"]["host"]
        self.assertEqual([wait for wait in host["waits"] if wait["kind"] == "sleep"], [])

    def test_calls_without_an_answer_say_why(self):
        for tool, arguments, cause in [
            ("optimize", {"command": "missing"}, "there is: quick, slow"),
            ("run", {"workloads": ["gemmm"]}, "gemm"),
            ("history", {"show": "session", "session": "nothing"}, "no session"),
            ("compare", {"a": {"command": "quick"}}, "both a and b"),
            ("query", {"paths": [str(TRACE)], "sql": "SELECT nothing"}, "nothing"),
        ]:
            with self.subTest(tool):
                result = self.agent.call(tool, **arguments)
                self.assertTrue(result["isError"])
                self.assertIn(cause, result["content"][0]["text"])
                self.assertNotIn("structuredContent", result)

    def test_a_long_call_reports_progress_and_can_be_cancelled(self):
        number, pids = self.started_slow(self.agent, "tools/call", {
            "name": "run", "arguments": {"command": "slow"}, "_meta": {"progressToken": "one"}})
        waiting = self.agent.start("tools/call", {"name": "doctor"})
        told = [self.agent.next(lambda message: message.get("method") == "notifications/progress") for _ in range(2)]
        self.assertEqual({each["params"]["progressToken"] for each in told}, {"one"})
        self.assertLess(told[0]["params"]["progress"], told[1]["params"]["progress"])
        self.assertRegex(told[0]["params"]["message"], r"^\d+ s: ")
        self.assertNotIn("total", told[0]["params"], "no budget was given")
        self.assertEqual(self.agent.ask("ping")["result"], {})  # answered meanwhile
        self.agent.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        answer = self.agent.next(lambda message: message.get("id") in (number, waiting))
        self.assertEqual(answer["id"], waiting)  # what was cancelled has no answer
        self.assertFalse(any(is_alive(pid) for pid in pids))

    def test_what_waits_can_be_cancelled(self):
        _, pids = self.started_slow(self.agent, "tools/call", {"name": "run", "arguments": {"command": "slow"}})
        waiting = [self.agent.start("tools/call", {"name": "doctor"}) for _ in range(15)]
        one_more = self.agent.ask("tools/call", {"name": "doctor"})
        self.assertIn("waiting", one_more["error"]["message"])
        for number in [*waiting[:-1], 1_000_000, None, {"x": 1}]:
            self.agent.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        running = waiting[0] - 1
        self.agent.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": running}})
        answer = self.agent.next(lambda message: "id" in message)
        self.assertEqual(answer["id"], waiting[-1])
        self.assertFalse(any(is_alive(pid) for pid in pids))

    def test_it_holds_no_socket(self):
        self.answer("doctor", "warpmark.doctor/1")
        files = [os.readlink(entry) for entry in pathlib.Path(f"/proc/{self.agent.process.pid}/fd").iterdir()]
        self.assertFalse([name for name in files if name.startswith("socket:")])


class Hostile(McpTest):
    def setUp(self):
        super().setUp()
        self.agent = self.client()
        self.agent.initialize()

    def refused(self, tool, **arguments):
        result = self.agent.call(tool, **arguments)
        self.assertTrue(result["isError"], result)
        return result["content"][0]["text"]

    def test_broken_messages_are_refused_and_the_next_is_answered(self):
        for line, code in [
            (b"{", -32700), (b"\xff\xfe\x00garbage", -32700), (b"[" * 100_000, -32700), (b"nan", -32700),
            (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600), (b"7", -32600), (b'"x"', -32600),
            (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b'{"id":1,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600), (b'{"jsonrpc":"2.0","id":1}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["run"]}}', -32602),
            (b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (3 << 20) + b'"}', -32600),
        ]:
            with self.subTest(line[:60]):
                self.agent.write(line + b"\n")
                answer = self.agent.next(lambda message: "error" in message)
                self.assertEqual(answer["error"]["code"], code)
                self.assertEqual(self.agent.ask("ping")["result"], {})

    def test_answers_and_unknown_notifications_are_passed_over(self):
        self.agent.say({"jsonrpc": "2.0", "id": 5, "result": {}})
        self.agent.say({"jsonrpc": "2.0", "method": "notifications/unknown"})
        self.agent.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}})
        self.agent.write(b"\n   \n")
        self.assertEqual(self.agent.ask("ping")["result"], {})
        self.assertEqual(self.agent.waiting, [])

    def test_an_id_cannot_be_used_twice_at_once(self):
        number, _ = self.started_slow(self.agent, "tools/call", {"name": "run", "arguments": {"command": "slow"}})
        self.agent.last_id = number - 1
        self.assertIn("in progress", self.agent.ask("tools/call", {"name": "doctor"})["error"]["message"])

    def test_only_what_is_allowed_is_started(self):
        mark = self.path / "mark"
        touch = f"touch {mark}"
        for tool, arguments in [
            ("run", {"command": touch}), ("run", {"command": "quick; " + touch}), ("run", {"command": ""}),
            ("run", {"command": "quick", "settings": {"size": f"1; {touch}"}}),
            ("run", {"command": "quick", "settings": {"size": "--"}}),
            ("run", {"command": "quick", "settings": {"other": "1"}}),
            ("run", {"command": "quick", "settings": {"env.LD_PRELOAD": "1"}}),
            ("run", {"workloads": ["copy"], "set": {"env.LD_PRELOAD": "/tmp/x.so"}}),
            ("run", {"workloads": ["gpt2"], "set": {"python": str(mark)}}),
            ("compare", {"workload": "gpt2", "settings_a": {"python": str(mark)}, "settings_b": {"batch": 1}}),
            ("run", {"workloads": ["gpt2"], "set": {"log": str(mark)}}), ("run", {"workloads": ["gpt2"], "set": {"data": "/etc"}}),
            ("run", {"workloads": ["storage"], "set": {"folder": str(self.path)}}),
            ("run", {"command": "quick", "rounds": 0}), ("run", {"command": "quick", "rounds": 1.5}),
            ("check", {"baseline": ""}),
            ("run", {"workloads": ["--plugin=/tmp/x.so"]}), ("run", {"workloads": ["--"], "device": "cpu"}),
            ("run", {"suite": "/etc/passwd"}), ("run", {"project": "warpmark.yaml"}),
            ("run", {"device": "cpu --shell"}), ("run", {"budget": "--shell"}), ("run", {"shell": True}),
            ("run", {"command": "quick", "project": "x"}), ("run", {"command": ["touch", str(mark)]}),
            ("check", {"project": str(self.path / "mcp.yaml")}), ("check", {"command": touch}),
            ("compare", {"a": {"command": touch}, "b": {"command": "quick"}}),
            ("compare", {"a": {"command": "quick", "shell": True}, "b": {"command": "quick"}}),
            ("compare", {"runs": ["--shell", touch]}),
            ("optimize", {"command": "quick", "only": ["--knob=x='touch mark'"]}),
            ("optimize", {"command": "quick", "apply": "plan.yaml"}),
            ("history", {"show": "prune"}), ("history", {"show": "trend", "metrics": "--out=mark"}),
            ("profile", {"command": touch}), ("profile", {"command": "quick", "out": str(mark)}),
        ]:
            with self.subTest(f"{tool} {arguments}"):
                self.refused(tool, **arguments)
        self.assertFalse(mark.exists())

    def test_only_files_of_the_folders_are_read(self):
        secret = pathlib.Path(tempfile.mkdtemp(dir=self.path.parent)) / "secret.json"
        self.addCleanup(secret.parent.rmdir)
        self.addCleanup(secret.unlink)
        secret.write_text('{"traceEvents": []}')
        (self.path / "link.json").symlink_to(secret)
        (self.path / "beside").symlink_to(secret.parent)
        for path in [str(secret), f"../{secret.parent.name}/secret.json", "link.json", "beside/secret.json", "/etc/passwd",
                     "/proc/self/environ", "missing.json", "--html=page.html", "-", "", ".", "a\u0000b", "\n", "~/x", "."*5000]:
            with self.subTest(path):
                said = self.refused("analyze", paths=[path])
                self.assertNotIn("root:", said)
        self.refused("analyze", paths=[str(TRACE)], against=str(secret))
        self.refused("analyze", paths=str(TRACE))
        self.refused("analyze", paths=[])
        self.refused("analyze", paths=[7])
        for sql in ["ATTACH 'x.db' AS x", "DROP TABLE kernels", "SELECT load_extension('x')",
                    "SELECT readfile('/etc/passwd')", "SELECT 1; SELECT 2", "", "PRAGMA writable_schema = 1"]:
            with self.subTest(sql):
                self.refused("query", paths=[str(TRACE)], sql=sql)
        self.assertFalse((self.path / "page.html").exists())
        self.assertFalse((self.path / "x.db").exists())

    def test_a_file_of_results_beside_the_configuration_is_no_session(self):
        (self.path / "allowed").mkdir()
        (self.path / "mcp.yaml").write_text("folders: [allowed]\n")
        (self.path / "results.json").write_text("{}")
        agent = self.client()
        agent.initialize()
        self.assertIn("may be read", agent.call("compare", runs=["results.json", "last"])["content"][0]["text"])

    def test_messages_changed_at_random_never_end_it(self):
        chance = random.Random(28)
        seeds = [
            {"jsonrpc": "2.0", "id": "r", "method": "tools/call", "params": {"name": "history", "arguments": {"limit": 3}}},
            {"jsonrpc": "2.0", "id": "s", "method": "tools/list", "params": {"_meta": {"progressToken": 1}}},
            {"jsonrpc": "2.0", "id": "t", "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        ]
        for _ in range(400):
            line = bytearray(json.dumps(chance.choice(seeds)).encode())
            for _ in range(chance.randint(1, 6)):
                at = chance.randrange(len(line))
                kind = chance.randrange(3)
                if kind == 0:
                    line[at] = chance.choice(b'{}[]",:0123456789 \\u\xff\x00abc')
                elif kind == 1:
                    del line[at:at + chance.randint(1, 8)]
                else:
                    line[at:at] = line[at:at + chance.randint(1, 30)]
                if not line:
                    break
            self.agent.write(bytes(line.replace(b"\n", b" ")) + b"\n")
        self.assertEqual(self.agent.ask("ping")["result"], {})

    def test_faults_of_the_configuration_name_the_line(self):
        for text, cause in [
            ("commands: {a: {run: 'rm -rf x'}}", "list of words"), ("commands: {a: {run: ['rm -rf x']}}", "blank"),
            ("commands: {a: {}}", "run"), ("comands: {}", "commands"), ("schema: warpmark.mcp/2", "warpmark.mcp/1"),
            ("commands: {a: {run: [x], settings: {b: [1]}}}", "{b}"), ("folders: [nowhere]", "nowhere"),
            ("commands: {a: {run: [x, --]}}", "--"), ("projects: {p: none.yaml}", "none.yaml"), ("longest: -1s", "longest"),
            ("commands: [a]", "map"),
        ]:
            with self.subTest(text):
                (self.path / "mcp.yaml").write_text(text)
                done = subprocess.run([WARPMARK, "mcp", "--config", self.path / "mcp.yaml"], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=60)
                self.assertIn(done.returncode, (2, 5))
                self.assertIn(cause, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main(verbosity=1)
