"""Any OpenAI-compatible server measured by two clients in turns: `warpmark load run` with vLLM's own command line, and the
request functions of `vllm bench serve` from a checkout of vLLM (Debian: python3-aiohttp). Both send prompts of the same kind,
each prompt once. What both report of TTFT, TPOT and tokens/s stands side by side, with the difference in percent. A server
that reports its own times (llama.cpp's `timings`) is a third column.

usage: serving_vllm.py WARPMARK URL MODEL VLLM/benchmarks/lib/endpoint_request_func.py [LEVELS [REQUESTS [TOKENS [ROUNDS]]]]
       LEVELS such as 1,4,16: users, each with REQUESTS. Or 3/s,6/s: both clients at the same time, each with REQUESTS at the
       times of a Poisson process of that rate.
       TOKENS: the mean length of an answer. Lengths are drawn from half to one and a half of it: users whose answers are
       equally long fall into step, and which step that is moves time between TTFT and TPOT from one load to the next.
"""

import asyncio
import importlib.util
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import types
import urllib.request

import aiohttp

WORDS = "time year people way day man thing woman life child world school".split()
NAMES = ("ttft_p50", "tpot_p50", "tokens_per_s")


def request_functions(path):
    for name in ("regex", "tqdm", "tqdm.asyncio"):  # which it imports and these functions do without
        module = types.ModuleType(name)
        module.tqdm = type("tqdm", (), {})
        sys.modules.setdefault(name, module)
    spec = importlib.util.spec_from_file_location("endpoint_request_func", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["endpoint_request_func"] = module
    spec.loader.exec_module(module)
    return module


def median(values):
    values = sorted(v for v in values if v is not None)
    n = len(values)
    return (values[(n - 1) // 2] + values[n // 2]) / 2 if values else None


def prompts(count, tokens):
    """Each with the tokens to answer it with."""
    return [("%08d " % random.randrange(10**8) + " ".join(random.choice(WORDS) for _ in range(20)),
             random.randint(tokens // 2, tokens + tokens // 2)) for _ in range(count)]


async def ask_all(level, tokens, ask):
    """The answers to all of a level's requests, and the seconds they took."""
    answers = []
    began = time.perf_counter()

    async def user(session, count):
        for prompt in prompts(count, tokens):
            answers.append(await ask(session, *prompt))

    async def at(session, due_s, prompt):
        await asyncio.sleep(began + due_s - time.perf_counter())
        answers.append(await ask(session, *prompt))

    # llama.cpp's server closes a connection after a stream and does not announce it: aiohttp would fail on each second request.
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True)) as session:
        if level.due_s:
            await asyncio.gather(*(at(session, *one) for one in zip(level.due_s, prompts(len(level.due_s), tokens))))
        else:
            await asyncio.gather(*(user(session, level.requests) for _ in range(level.users)))
    return answers, time.perf_counter() - began


async def by_vllm(vllm, url, model, level, tokens):
    async def ask(session, prompt, length):
        asked = vllm.RequestFuncInput(prompt=prompt, api_url=url + "/v1/completions", prompt_len=21, output_len=length, model=model,
                                      ignore_eos=True)
        answer = await vllm.async_request_openai_completions(asked, session)
        # llama.cpp has usage in the event of its finish reason, where vLLM's client does not look.
        answer.output_tokens = answer.output_tokens or length
        return answer

    answers, wall = await ask_all(level, tokens, ask)
    good = [a for a in answers if a.success]
    return {
        "ttft_p50": median([a.ttft for a in good]),
        "tpot_p50": median([(a.latency - a.ttft) / (a.output_tokens - 1) for a in good if a.output_tokens > 1]),
        "tokens_per_s": sum(a.output_tokens for a in good) / wall,
        "failed": len(answers) - len(good),
    }


async def by_server(url, model, level, tokens):
    async def ask(session, prompt, length):
        body = {"model": model, "prompt": prompt, "max_tokens": length, "ignore_eos": True}
        async with session.post(url + "/v1/completions", json=body) as answer:
            return (await answer.json()).get("timings", {})

    answers, wall = await ask_all(level, tokens, ask)
    return {
        "ttft_p50": median([a["prompt_ms"] / 1000 for a in answers if "prompt_ms" in a]),
        "tpot_p50": median([a["predicted_per_token_ms"] / 1000 for a in answers if "predicted_per_token_ms" in a]),
        "tokens_per_s": sum(a.get("predicted_n", 0) for a in answers) / wall or None,
        "failed": 0,
    }


def by_warpmark(warpmark, url, model, level, tokens, prompt_tokens):
    with tempfile.NamedTemporaryFile(suffix=".json") as out, tempfile.NamedTemporaryFile("w", suffix=".jsonl") as data:
        line = [warpmark, "load", "run", "--backend", "vllm", "--base-url", url, "--model", model, "--ignore-eos"]
        line += ["--warmup-ratio", "0.0001", "--no-store", "--json", out.name, "--dataset-path", data.name]
        if level.due_s:
            rows = [{"timestamp": due * 1000, "input_length": prompt_tokens, "output_length": tokens} for due in level.due_s]
            line += ["--dataset-name", "timed_trace", "--num-prompts", str(len(rows))]
        else:
            drawn = prompts(level.users * level.requests, tokens)
            rows = [{"prompt": prompt, "output_tokens": length} for prompt, length in drawn]
            line += ["--dataset-name", "custom", "--custom-output-len", "-1", "--num-prompts", str(len(rows))]
            line += ["--max-concurrency", str(level.users)]
        data.writelines(json.dumps(row) + "\n" for row in rows)
        data.flush()
        ended = subprocess.run(line, capture_output=True, text=True)
        try:
            load = json.load(open(out.name))["scenarios"][0]
        except ValueError:
            raise SystemExit(ended.stderr)
    metrics = load["metrics"]
    return {
        "ttft_p50": metrics["ttft"]["percentiles"]["p50"]["value"],
        "tpot_p50": metrics["tpot"]["percentiles"]["p50"]["value"],
        "tokens_per_s": metrics["output_throughput"]["mean"],
        "failed": load["requests"]["failed"],
        "verdict": load["client"]["verdict"],
    }


class Level:
    def __init__(self, text, requests):
        self.text, self.requests, self.due_s = text, requests, []
        self.rate = float(text[:-2]) if text.endswith("/s") else 0
        if not self.rate:
            self.users = int(text)
            self.text += " users"

    def drawn(self):
        """With other times."""
        level, at = Level(self.text.removesuffix(" users"), self.requests), 0.0
        for _ in range(self.requests if self.rate else 0):
            level.due_s.append(at)
            at += random.expovariate(self.rate)
        return level


def tokens_of_a_prompt(url, model):
    body = json.dumps({"model": model, "prompt": prompts(1, 2)[0][0], "max_tokens": 1}).encode()
    request = urllib.request.Request(url + "/v1/completions", body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["usage"]["prompt_tokens"]


def main():
    warpmark, url, model, path = sys.argv[1:5]
    requests, tokens, rounds = (int(sys.argv[i]) if len(sys.argv) > i else usual for i, usual in ((6, 20), (7, 32), (8, 3)))
    levels = [Level(text, requests) for text in (sys.argv[5] if len(sys.argv) > 5 else "1,4,16").split(",")]
    vllm, prompt_tokens = request_functions(path), tokens_of_a_prompt(url, model)
    for level in levels:
        ours, theirs, servers = [], [], []
        for _ in range(rounds):
            own = threading.Thread(target=lambda: ours.append(
                by_warpmark(warpmark, url, model, level.drawn(), tokens, prompt_tokens)))
            own.start()
            if not level.rate:
                own.join()
            theirs.append(asyncio.run(by_vllm(vllm, url, model, level.drawn(), tokens)))
            own.join()
            if not level.rate and level.users == 1:  # its prompt_ms begins when a slot takes the request
                servers.append(asyncio.run(by_server(url, model, level, tokens)))
        for name in NAMES:
            a, b, c = (median([x[name] for x in side]) for side in (ours, theirs, servers))
            spread = [max(x[name] for x in side) / min(x[name] for x in side) - 1 for side in (ours, theirs)]
            print("%8s %-13s warpmark %10.5g  vllm bench serve %10.5g  %+6.2f %%" % (level.text, name, a, b, 100 * (a / b - 1))
                  + "  rounds differ by %.1f and %.1f %%" % tuple(100 * x for x in spread)
                  + ("  server %10.5g  %+6.2f %%" % (c, 100 * (a / c - 1)) if c else ""), flush=True)
        print("%8s failed        %d and %d; client %s" % (level.text, sum(o["failed"] for o in ours),
              sum(t["failed"] for t in theirs), ", ".join(sorted({o["verdict"] for o in ours}))), flush=True)


if __name__ == "__main__":
    main()
