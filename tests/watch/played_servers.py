"""Servers that the tests of alerts talk to: they record what they get, and misbehave on request.

    played_servers.py http RECORD [--plan 500,hang,200] [--tls CERT KEY]
    played_servers.py smtp RECORD [--tls CERT KEY] [--implicit] [--password P] [--plan 451,250]

The first line of output is the port. RECORD gets a line of JSON for each request or mail. A plan is what is answered, in
order; its last word stays.
"""
import argparse
import asyncio
import json
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["http", "smtp"])
    parser.add_argument("record")
    parser.add_argument("--plan", default="")
    parser.add_argument("--tls", nargs=2)
    parser.add_argument("--implicit", action="store_true")
    parser.add_argument("--password")
    return parser.parse_args()


class Plan:
    def __init__(self, words):
        self.words = [word for word in words.split(",") if word]
        self.lock = threading.Lock()

    def next(self, usual):
        with self.lock:
            if len(self.words) > 1:
                return self.words.pop(0)
            return self.words[0] if self.words else usual


def recorder(path):
    lock = threading.Lock()

    def record(entry):
        with lock, open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")

    return record


def tls_of(files):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*files)
    return context


def serve_http(args, record):
    plan = Plan(args.plan)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode("utf-8")
            answer = plan.next("200")
            record({"path": self.path, "headers": dict(self.headers), "body": body, "answer": answer})
            if answer == "hang":
                time.sleep(60)
                return
            status, _, after = answer.partition(":")
            self.send_response(int(status))
            if after:
                self.send_header("Retry-After", after)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if args.tls:
        server.socket = tls_of(args.tls).wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def serve_smtp(args, record):
    from aiosmtpd.smtp import SMTP, AuthResult

    plan = Plan(args.plan)

    class Handler:
        async def handle_DATA(self, _server, session, envelope):
            answer = plan.next("250")
            record({"from": envelope.mail_from, "to": envelope.rcpt_tos, "tls": session.ssl is not None or args.implicit,
                    "user": session.auth_data, "text": envelope.content.decode("utf-8"), "answer": answer})
            return f"{answer} said"

    def authenticate(_server, _session, _envelope, _mechanism, data):
        good = args.password and data.password == args.password.encode()
        return AuthResult(success=bool(good), auth_data=data.login.decode())

    tls = tls_of(args.tls) if args.tls else None

    def session():
        return SMTP(Handler(), tls_context=None if args.implicit else tls, require_starttls=bool(tls) and not args.implicit,
                    authenticator=authenticate if args.password else None, auth_required=bool(args.password),
                    auth_require_tls=False)

    async def main():
        loop = asyncio.get_running_loop()
        server = await loop.create_server(session, "127.0.0.1", 0, ssl=tls if args.implicit else None)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(main())


if __name__ == "__main__":
    given = arguments()
    try:
        (serve_http if given.kind == "http" else serve_smtp)(given, recorder(given.record))
    except KeyboardInterrupt:
        sys.exit(0)
