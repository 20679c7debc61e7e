"""A randomly initialized Llama of Hugging Face's transformers behind the simplest server there is (Python's http.server), which
speaks OpenAI's chat completions: what `warpmark load run` and bench/serving_beside.py measure where no inference server is at hand.
Each token is one letter, and each is an event, so that what clients count can be compared with what was made.

usage: transformers_server.py PORT [DEVICE] [LAYERS] [HIDDEN]      prints "ready" once it answers
"""

import http.server
import json
import queue
import sys
import threading

import torch
import transformers

LETTERS = "abcdefghijklmnopqrstuvwxyz "
VOCABULARY = 512


class Letters(transformers.generation.streamers.BaseStreamer):
    """Puts each new token into a queue, and None behind the last one; the prompt comes first and is left out."""

    def __init__(self):
        self.tokens, self.prompt = queue.Queue(), True

    def put(self, value):
        if self.prompt:
            self.prompt = False
        else:
            self.tokens.put(int(value.reshape(-1)[0]))

    def end(self):
        self.tokens.put(None)


def network(device, layers, hidden):
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=hidden, intermediate_size=4 * hidden, num_hidden_layers=layers,
        num_attention_heads=hidden // 64, num_key_value_heads=hidden // 64, max_position_embeddings=4096,
        bos_token_id=None, eos_token_id=None, pad_token_id=0)
    torch.manual_seed(1)
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    return transformers.LlamaForCausalLM(config).to(device=device, dtype=dtype).eval()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a letter waits 40 ms for the acknowledgement of the one before
    model, device, turn = None, "cpu", threading.Lock()

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = "".join(m["content"] for m in body.get("messages", []) if isinstance(m.get("content"), str))
        asked = int(body.get("max_completion_tokens") or body.get("max_tokens") or 16)
        prompt = [ord(c) % VOCABULARY for c in text] or [0]
        letters = self.generate(prompt, asked)
        if body.get("stream"):
            self.stream(letters, len(prompt), (body.get("stream_options") or {}).get("include_usage"))
        else:
            self.answer("".join(letters), len(prompt), asked)

    def generate(self, prompt, asked):
        """Letters as they are made. One request at a time has the network, as one stream of the device would anyway."""
        streamer = Letters()
        ids = torch.tensor([prompt], device=self.device)

        def run():
            try:
                with self.turn, torch.inference_mode():
                    self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=asked, min_new_tokens=asked,
                                        do_sample=False, streamer=streamer)
            finally:
                streamer.end()  # also after a fault, which would leave the client waiting

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        while (token := streamer.tokens.get()) is not None:
            yield LETTERS[token % len(LETTERS)]
        thread.join()

    def event(self, data):
        line = b"data: " + data + b"\n\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()

    def stream(self, letters, prompt, usage):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        made = 0
        for letter in letters:
            made += 1
            choice = {"index": 0, "delta": {"content": letter}, "finish_reason": None}
            self.event(json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode())
        self.event(json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}).encode())
        if usage:
            self.event(json.dumps({"choices": [], "usage": count(prompt, made)}).encode())
        self.event(b"[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def answer(self, text, prompt, made):
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
        data = json.dumps({"object": "chat.completion", "choices": [choice], "usage": count(prompt, made)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def count(prompt, made):
    return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    port, device, layers, hidden = (sys.argv[1:] + ["cpu", "12", "768"][len(sys.argv) - 2:])[:4]
    Handler.model, Handler.device = network(device, int(layers), int(hidden)), device
    for _ in Handler.generate(Handler, [1, 2, 3], 4):  # the first kernels of a process take seconds
        pass
    server = Server(("127.0.0.1", int(port)), Handler)
    print("ready", torch.__version__, transformers.__version__, device, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
