#!/usr/bin/env python3
"""What 200 live clients, slow ones and hostile ones do to `warpmark dashboard`, for some minutes.

    python3 bench/dashboard_crowd.py WARPMARK [--db STORE] [--minutes 5] [--clients 200]
    python3 bench/dashboard_crowd.py WARPMARK --jumping-clock build/release/tests/libwarpmark_pretend.so

200 clients follow the live values; 100 connections send a byte of a request now and then and are made anew when they are hung up
on; 10 ask with headers of 10 MB; 20 take nothing of a large answer; four ask for pages as browsers do. Prints how many live values
came, how long pages took, and what the server held at each minute.
"""
import argparse
import os
import selectors
import socket
import statistics
import subprocess
import threading
import time


def status(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(line.split()[1] for line in file if line.startswith(name + ":"))


def connect(port):
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    return made


class Crowd:
    def __init__(self, port, clients):
        self.port, self.stop = port, threading.Event()
        self.live, self.gaps, self.lost, self.hung_up, self.refused, self.asked, self.failed = 0, [], 0, 0, 0, [], []
        self.threads = [threading.Thread(target=self.follow, args=(clients,)), threading.Thread(target=self.trickle, args=(100,))]
        self.threads += [threading.Thread(target=self.large) for _ in range(2)]
        self.threads += [threading.Thread(target=self.browse) for _ in range(4)]
        self.threads.append(threading.Thread(target=self.take_nothing, args=(20,)))
        for one in self.threads:
            one.start()

    def follow(self, clients):
        chosen = selectors.DefaultSelector()
        for _ in range(clients):
            one = connect(self.port)
            one.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            chosen.register(one, selectors.EVENT_READ, [None])
        while not self.stop.is_set():
            for key, _ in chosen.select(0.5):
                got = key.fileobj.recv(1 << 16)
                now, last = time.monotonic(), key.data[0]
                if not got:
                    self.lost += 1
                    chosen.unregister(key.fileobj)
                elif b"data: " in got:
                    self.live += got.count(b"data: ")
                    if last is not None:
                        self.gaps.append(now - last)
                    key.data[0] = now
        for key in list(chosen.get_map().values()):
            key.fileobj.close()

    def trickle(self, count):
        slow = []
        while not self.stop.wait(1):
            slow += [connect(self.port) for _ in range(count - len(slow))]
            for one in list(slow):
                try:
                    one.sendall(b"G")
                    one.setblocking(False)
                    if one.recv(4096) == b"":
                        raise ConnectionError
                except BlockingIOError:
                    one.setblocking(True)
                except OSError:
                    self.hung_up += 1
                    one.close()
                    slow.remove(one)

    def large(self):
        while not self.stop.wait(2):
            with connect(self.port) as one:
                try:
                    one.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * (10 << 20))
                except OSError:
                    self.refused += 1

    def take_nothing(self, count):
        held = []
        for _ in range(count):
            one = connect(self.port)
            one.sendall(b"GET /api/runs?limit=500 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
            held.append(one)
        self.stop.wait()
        for one in held:
            one.close()

    def browse(self):
        paths = ("", "api/sessions?limit=100", "api/runs?limit=100", "api/cases?limit=200", "api/changes", "api/fleet")
        while not self.stop.wait(0.5):
            for path in paths:
                begin = time.monotonic()
                try:
                    with connect(self.port) as one:
                        one.sendall(f"GET /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                        answer = b""
                        while part := one.recv(1 << 16):
                            answer += part
                    if not answer.startswith(b"HTTP/1.1 200"):
                        self.failed.append(f"/{path}: {answer[:60]!r}")
                    self.asked.append(time.monotonic() - begin)
                except OSError as problem:
                    self.failed.append(f"/{path}: {problem}")

    def end(self):
        self.stop.set()
        for one in self.threads:
            one.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warpmark")
    parser.add_argument("--db", default="")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--jumping-clock", default="", metavar="LIBRARY", help="the dashboard's clocks jump, by this library of the tests")
    asked = parser.parse_args()
    command = [asked.warpmark, "dashboard", "--port", "0"] + (["--db", asked.db] if asked.db else [])
    jumping = {"LD_PRELOAD": os.path.abspath(asked.jumping_clock), "PRETEND_CLOCK": "jumping", "PRETEND_START": str(time.monotonic_ns())}
    served = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(jumping if asked.jumping_clock else {})})
    line = served.stdout.readline()
    port = int(line.rsplit(":", 1)[1].strip().rstrip("/"))
    descriptors = lambda: len(os.listdir(f"/proc/{served.pid}/fd"))
    begin, before = time.monotonic(), descriptors()
    crowd = Crowd(port, asked.clients)
    print("| minute | memory | sockets and files | live values | slowest gap | hung up on | pages | median | slowest | failed |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    minute = 0
    while time.monotonic() - begin < asked.minutes * 60 and served.poll() is None:
        time.sleep(min(60, asked.minutes * 60))
        minute += 1
        pages, crowd.asked = crowd.asked, []
        gaps, crowd.gaps = crowd.gaps, []
        print(f"| {minute} | {int(status(served.pid, 'VmRSS')) / 1024:.0f} MiB | {descriptors()} | {crowd.live} | {max(gaps, default=0):.1f} s | "
              f"{crowd.hung_up} | {len(pages)} | {statistics.median(pages or [0]) * 1e3:.0f} ms | {max(pages or [0]) * 1e3:.0f} ms | "
              f"{len(crowd.failed)} |", flush=True)
    crowd.end()
    time.sleep(15)
    print(f"after all have gone: {int(status(served.pid, 'VmRSS')) / 1024:.0f} MiB, {descriptors()} sockets and files (before: {before}); "
          f"{crowd.lost} live clients were lost, {crowd.refused} large headers were refused")
    for problem in crowd.failed[:5]:
        print("failed:", problem)
    served.send_signal(2)
    print("the dashboard ended with", served.wait(timeout=30))


if __name__ == "__main__":
    main()
