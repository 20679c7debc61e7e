"""Any OpenAI-compatible server measured by two clients in turns: `warpmark load run` with vLLM's own command line, and the
request functions of `vllm bench serve` from a checkout of vLLM (Debian: python3-aiohttp). Three levels of users; what both say of
TTFT, TPOT and tokens/s stands side by side, with the difference in percent.

usage: serving_vllm.py WARPMARK URL MODEL VLLM/benchmarks/lib/endpoint_request_func.py [LEVELS [REQUESTS [TOKENS [ROUNDS]]]]
       LEVELS such as 1,4,16; REQUESTS for each user
"""

import asyncio
import importlib.util
import json
import random
import subprocess
import sys
import tempfile
import time
import types

import aiohttp


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
    values = sorted(values)
    n = len(values)
    return (values[(n - 1) // 2] + values[n // 2]) / 2 if values else None


async def by_vllm(vllm, url, model, users, requests, tokens):
    answers = []
    words = "time year people way day man thing woman life child world school".split()

    async def user(session, count):
        for _ in range(count):
            prompt = "%d " % random.randrange(10**8) + " ".join(random.choice(words) for _ in range(20))
            asked = vllm.RequestFuncInput(prompt=prompt, api_url=url + "/v1/completions", prompt_len=21, output_len=tokens, model=model)
            answers.append(await vllm.async_request_openai_completions(asked, session))

    connector = aiohttp.TCPConnector(limit=0)
    began = time.perf_counter()
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(user(session, requests) for _ in range(users)))
    wall = time.perf_counter() - began
    good = [a for a in answers if a.success]
    return {
        "ttft_p50": median([a.ttft for a in good]),
        "tpot_p50": median([(a.latency - a.ttft) / (a.output_tokens - 1) for a in good if a.output_tokens > 1]),
        "tokens_per_s": sum(a.output_tokens for a in good) / wall,
        "failed": len(answers) - len(good),
    }


def by_warpmark(warpmark, url, model, users, requests, tokens):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        line = [warpmark, "load", "run", "--backend", "vllm", "--base-url", url, "--model", model, "--dataset-name", "random"]
        line += ["--random-input-len", "24", "--random-output-len", str(tokens), "--num-prompts", str(users * requests)]
        line += ["--max-concurrency", str(users), "--warmup-ratio", "0.0001", "--no-store", "--json", out.name]
        subprocess.run(line, capture_output=True, text=True)
        load = json.load(open(out.name))["scenarios"][0]
    metrics = load["metrics"]
    return {
        "ttft_p50": metrics["ttft"]["percentiles"]["p50"]["value"],
        "tpot_p50": metrics["tpot"]["percentiles"]["p50"]["value"],
        "tokens_per_s": metrics["output_throughput"]["mean"],
        "failed": load["requests"]["failed"],
    }


def main():
    warpmark, url, model, path = sys.argv[1:5]
    levels = [int(level) for level in (sys.argv[5] if len(sys.argv) > 5 else "1,4,16").split(",")]
    requests, tokens, rounds = (int(sys.argv[i]) if len(sys.argv) > i else usual for i, usual in ((6, 20), (7, 32), (8, 3)))
    vllm = request_functions(path)
    for users in levels:
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(by_warpmark(warpmark, url, model, users, requests, tokens))
            theirs.append(asyncio.run(by_vllm(vllm, url, model, users, requests, tokens)))
        for name in ("ttft_p50", "tpot_p50", "tokens_per_s"):
            a, b = median([o[name] for o in ours]), median([t[name] for t in theirs])
            print("%3d users %-13s warpmark %10.5g  vllm bench serve %10.5g  %+6.2f %%" % (users, name, a, b, 100 * (a / b - 1)))
        print("%3d users failed        %d and %d" % (users, sum(o["failed"] for o in ours), sum(t["failed"] for t in theirs)))


if __name__ == "__main__":
    main()
