"""An OpenAI-compatible server that adds, misbehaves for some questions, and may die; prints its port."""
import http.server, json, os, re, threading

asked = {}
answers_left = int(os.environ.get("ADDER_DIES_AFTER", "-1"))


def said(text, reason="stop"):
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": reason}],
                       "usage": {"prompt_tokens": 10, "completion_tokens": 2}}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, body, headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions" or request.get("model") != "adder":
            return self.answer(404, b"no such path or model")
        global answers_left
        if answers_left == 0:
            os._exit(1)
        answers_left -= 1
        a, b = [int(x) for x in re.findall(r"(\d+) and (\d+)", request["messages"][-1]["content"])[-1]]
        asked[a] = asked.get(a, 0) + 1
        if a == 1 and asked[a] == 1:
            return self.answer(429, b"slow down", {"Retry-After": "0"})
        if a == 2 and asked[a] == 1:
            self.close_connection = True
            return self.connection.close()
        bad = {3: (200, b"{no json"), 4: (200, said("")), 5: (200, said(str(a + b), "length")), 6: (500, b"broken"),
               7: (200, b'{"choices": [{"message": {"content": "\xff"}}]}'), 8: (400, b"bad request")}
        self.answer(*bad.get(a, (200, said(str(a + b)))))


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("ADDER_PORT", "0"))), Handler)
print(server.server_address[1], flush=True)
threading.Timer(280, lambda: os._exit(0)).start()
server.serve_forever()
