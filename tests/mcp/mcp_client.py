"""A client of the Model Context Protocol that says each message as a test wants it."""

import json
import queue
import subprocess
import threading
import time

MODERN = "2026-07-28"


class Client:
    """`warpmark mcp` as a child process; every line it prints must be a JSON object."""

    def __init__(self, executable, arguments=(), **options):
        self.process = subprocess.Popen(
            [executable, "mcp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.messages = queue.Queue()
        self.waiting = []
        self.broken_lines = []
        self.errors = b""
        self.readers = [threading.Thread(target=self._read_out), threading.Thread(target=self._read_err)]
        for reader in self.readers:
            reader.start()
        self.last_id = 0

    def _read_out(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
                if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                    raise ValueError("no message")
                self.messages.put(message)
            except ValueError:
                self.broken_lines.append(line)
        self.messages.put(None)

    def _read_err(self):
        self.errors = self.process.stderr.read()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def say(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def next(self, wanted, timeout=100):
        """The first message that `wanted` accepts; others are kept."""
        for i, message in enumerate(self.waiting):
            if wanted(message):
                return self.waiting.pop(i)
        deadline = time.monotonic() + timeout
        while True:
            message = self.messages.get(timeout=max(0.01, deadline - time.monotonic()))
            if message is None:
                raise EOFError(self.errors.decode(errors="replace"))
            if wanted(message):
                return message
            self.waiting.append(message)

    def start(self, method, params=None):
        self.last_id += 1
        self.say({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params or {}})
        return self.last_id

    def ask(self, method, params=None, timeout=100):
        number = self.start(method, params)
        return self.next(lambda message: message.get("id") == number, timeout)

    def initialize(self, version="2025-11-25"):
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                         "clientInfo": {"name": "test", "version": "1"}})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def modern(self, method, params=None, version=MODERN):
        meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
        return self.ask(method, {**(params or {}), "_meta": meta})

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def close(self, timeout=20):
        """Ends the input, as clients do; the exit code."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            code = self.process.wait(timeout)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code
