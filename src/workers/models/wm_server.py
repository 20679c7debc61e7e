"""A model of the decoding worker behind the HTTP interface that inference servers have (OpenAI's completions and chat, with
streams), so that `warpmark load` can ask it: by one request after another, without batching.

A word of the vocabulary is written " 17". Prompts are read word by word: a number is itself, anything else a word by its
bytes. Nothing it says means anything; how long it takes does.
"""

import collections
import http.server
import json
import queue
import threading
import time

import torch

import wm_networks as networks
from wm_training import Refused


class Job:
    """What one request asks for; its words come through `said`."""

    def __init__(self, prompt, most):
        self.prompt, self.most = prompt, most
        self.said, self.given_up = queue.SimpleQueue(), False


class Model:
    """All of the model's work is done by one thread: libraries keep handles and buffers for each thread that calls them, and
    threads that take turns word by word wait for Python's lock at every operation."""

    def __init__(self, decoding):
        self.decoding, self.jobs = decoding, queue.SimpleQueue()
        self.vocab, self.positions = decoding.config["vocab"], decoding.config.get("positions", 1 << 20)
        threading.Thread(target=self.work, daemon=True).start()

    def numbers(self, text):
        found = [int(w) if w.isdigit() else sum(w.encode()) for w in text.split()]
        return [n % self.vocab for n in found] or [0]

    def words(self, prompt, most):
        """One number after another; raises what went wrong in the model."""
        job = Job(prompt, most)
        self.jobs.put(job)
        try:
            for _ in range(most):
                word = job.said.get()
                if isinstance(word, Exception):
                    raise word
                yield word
        finally:
            job.given_up = True

    def work(self):
        """A word for each request in turn."""
        begun = collections.deque()
        while True:
            while not begun or not self.jobs.empty():
                job = self.jobs.get()
                begun.append((job, self.steps(job)))
            job, steps = begun.popleft()
            try:
                word = None if job.given_up else next(steps, None)
            except Exception as problem:  # of this request, who asked is told: others go on
                job.said.put(problem)
                continue
            if word is not None:
                job.said.put(word)
                begun.append((job, steps))

    def steps(self, job):
        d = self.decoding
        ids = torch.tensor([job.prompt], device=d.device)
        cache = networks.Cache(len(d.model.blocks), len(job.prompt) + job.most)
        for _ in range(job.most):
            with torch.no_grad(), d.autocast():
                ids = d.model.go_on(ids, cache)[:, -1].argmax(-1, keepdim=True)
                word = int(ids)
            yield word


class Faulty(Exception):
    pass


def read_request(model, path, body):
    """Prompt and number of words."""
    if not isinstance(body, dict):
        raise Faulty("the body is no JSON object")
    if path == "/v1/chat/completions":
        messages = body.get("messages")
        if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            raise Faulty("there are no messages")
        text = " ".join(str(m.get("content", "")) for m in messages)
    else:
        text = body.get("prompt", "")
    prompt = [int(n) % model.vocab for n in text] if isinstance(text, list) else model.numbers(str(text))
    most = body.get("max_completion_tokens") or body.get("max_tokens") or 16
    if not isinstance(most, int) or most < 1 or len(prompt) + most > model.positions:
        raise Faulty("%d words and %s new ones do not fit %d positions" % (len(prompt), most, model.positions))
    return prompt, most


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if self.path == "/v1/models":
            name = self.model.decoding.name
            return self.answer(200, {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "warpmark"}]})
        self.answer(200 if self.path == "/health" else 404, {})

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(min(length, 16 << 20))
        if self.path not in ("/v1/completions", "/v1/chat/completions"):
            return self.answer(404, {"error": {"message": "there is no " + self.path, "code": 404}})
        try:
            body = json.loads(raw)
            prompt, most = read_request(self.model, self.path, body)
        except (ValueError, TypeError, Faulty) as problem:
            return self.answer(400, {"error": {"message": str(problem), "code": 400}})
        usage = {"prompt_tokens": len(prompt), "completion_tokens": most, "total_tokens": len(prompt) + most}
        if body.get("stream"):
            return self.stream(body, prompt, most, usage)
        try:
            text = "".join(" %d" % word for word in self.model.words(prompt, most))
        except RuntimeError as problem:
            return self.answer(500, {"error": {"message": str(problem), "code": 500}})
        self.answer(200, dict(self.frame(text, "length", False), usage=usage))

    def frame(self, text, ending, stream):
        chat = self.path == "/v1/chat/completions"
        choice = {"index": 0, "finish_reason": ending}
        if chat:
            choice["delta" if stream else "message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        kind = ("chat.completion" if chat else "text_completion") + (".chunk" if chat and stream else "")
        name = self.model.decoding.name
        return {"id": "warpmark", "object": kind, "created": int(time.time()), "model": name, "choices": [choice]}

    def event(self, text):
        data = ("data: %s\n\n" % text).encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, body, prompt, most, usage):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            try:
                for i, word in enumerate(self.model.words(prompt, most)):
                    self.event(json.dumps(self.frame(" %d" % word, "length" if i + 1 == most else None, True)))
                if (body.get("stream_options") or {}).get("include_usage"):
                    self.event(json.dumps(dict(self.frame("", None, True), choices=[], usage=usage)))
                self.event("[DONE]")
            except RuntimeError as problem:  # the model's, after the head of the answer
                self.event(json.dumps({"error": {"message": str(problem), "code": 500}}))
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # who asked has gone


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


def serve(decoding, host, port):
    """Serves on threads of its own until the process ends; returns the port."""
    handler = type("HandlerOfModel", (Handler,), {"model": Model(decoding)})
    try:
        server = Server((host, port), handler)
    except OSError as problem:
        what = "cannot listen on %s port %d: %s" % (host, port, problem.strerror)
        raise Refused("environment", what, "--port 0 takes a free one")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]
