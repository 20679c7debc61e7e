"""A chat server that answers as no server should, or as few do: the first part of the path says how. Prints its port.

usage: odd_server.py [THREADS]      with THREADS: a fixed number of threads, one for each connection, as llama.cpp's server has
"""

import gzip
import json
import queue
import socket
import sys
import threading
import time
import zlib

PREFIXES = {}  # words that prompts began with, as a tree


def cached_words(words):
    node, count = PREFIXES, 0
    for word in words:
        if word not in node:
            break
        node, count = node[word], count + 1
    node = PREFIXES
    for word in words:
        node = node.setdefault(word, {})
    return count


def read_request(connection, data):
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    while len(body) < length:
        body += connection.recv(65536)
    return head.split(b" ")[1].decode(), json.loads(body[:length]), body[length:]


class Answer:
    def __init__(self, connection, mode):
        self.connection, self.mode = connection, mode
        self.packer = zlib.compressobj(6, zlib.DEFLATED, 31) if mode == "gzipstream" else None
        self.held = b""

    def whole(self, answer, status="200 OK", more=""):
        body = json.dumps(answer).encode()
        if self.mode == "gzipforce":
            body, more = gzip.compress(body), more + "Content-Encoding: gzip\r\n"
        head = "HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n" % (status, more, len(body))
        self.connection.sendall(head.encode() + body)

    def begin(self):
        more = "Content-Encoding: gzip\r\n" if self.packer else ""
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%sTransfer-Encoding: chunked\r\n\r\n" % more
        self.connection.sendall(head.encode())

    def event(self, data):
        data = b"data: " + (data.encode() if isinstance(data, str) else json.dumps(data).encode()) + b"\n\n"
        if self.packer:
            data = self.packer.compress(data) + self.packer.flush(zlib.Z_SYNC_FLUSH)
        chunk = b"%x\r\n" % len(data) + data + b"\r\n"
        if self.mode == "onesegment":
            self.held += chunk
        else:
            self.connection.sendall(chunk)

    def end(self):
        self.connection.sendall(self.held + b"0\r\n\r\n")


def stream(answer, mode, tokens, usage):
    answer.begin()
    if mode == "oneevent":
        answer.event({"choices": [{"index": 0, "delta": {"content": "x " * tokens}}]})
    else:
        for i in range(tokens):
            answer.event({"choices": [{"index": 0, "delta": {"content": "x "}}]})
            if mode != "onesegment":
                time.sleep(0.002)
    reason = {"error": "error", "abort": "abort", "filter": "content_filter"}.get(mode, "length")
    answer.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if mode == "zerousage":
        usage = {"prompt_tokens": 0, "completion_tokens": 0}
    if mode != "nousage":
        answer.event({"choices": [], "usage": usage})
    answer.event("[DONE]  " if mode == "doneblank" else "[DONE]")
    answer.end()


def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(5)
    rest = b""
    try:
        while True:
            request = read_request(connection, rest)
            if request is None:
                return
            path, body, rest = request
            mode, answer = path.split("/")[1], Answer(connection, path.split("/")[1])
            words = " ".join(m["content"] for m in body["messages"]).split()
            tokens = body.get("max_tokens") or 5
            cached = cached_words(words) if mode == "prefix" else 0
            usage = {"prompt_tokens": len(words), "completion_tokens": tokens}
            if mode == "prefix":
                usage["prompt_tokens_details"] = {"cached_tokens": cached}
                time.sleep(0.001 * (len(words) - cached))
            elif mode == "hang":
                time.sleep(60)
            else:
                time.sleep(0.01)
            if mode == "redirect":
                answer.whole({}, "307 Temporary Redirect", "Location: /plain\r\n")
            elif mode == "escape":
                answer.whole({"error": {"message": "\x1b[31mred\x07 <b>bold</b>"}}, "500 Bad")
            elif not body.get("stream"):
                choice = {"index": 0, "message": {"content": "x " * tokens}, "finish_reason": "length"}
                answer.whole({"choices": [choice], "usage": usage})
            else:
                stream(answer, mode, tokens, usage)
            if mode == "close":
                return
    except (OSError, ValueError):
        pass
    finally:
        connection.close()


listening = socket.create_server(("127.0.0.1", 0), backlog=512)
print(listening.getsockname()[1], flush=True)
waiting = queue.Queue()


def work():
    while True:
        serve(waiting.get())


for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
    threading.Thread(target=work, daemon=True).start()
while True:
    accepted = listening.accept()[0]
    if len(sys.argv) > 1:
        waiting.put(accepted)
    else:
        threading.Thread(target=serve, args=(accepted,), daemon=True).start()
