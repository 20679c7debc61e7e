"""Any OpenAI-compatible server measured by two clients in turns: `warpmark load run`, and one on aiohttp (Debian:
python3-aiohttp) with the same prompts' length, users and time. What both say of the server stands side by side.

usage: serving_beside.py WARPMARK URL MODEL USERS TOKENS SECONDS [ROUNDS] [CA_FILE]
"""

import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
import time

import aiohttp


def quantile(values, p):
    values = sorted(values)
    return values[int(p * (len(values) - 1))] if values else None


async def user(session, url, model, tokens, until, answers, counts):
    while time.monotonic() < until:
        body = {
            "model": model,
            "messages": [{"role": "user", "content": "%d " % time.monotonic_ns() + "word " * 20}],
            "max_tokens": tokens,
            "max_completion_tokens": tokens,
            "temperature": 0,
            "stream": True,
        }
        began, first, last, events = time.monotonic(), None, None, 0
        try:
            async with session.post(url + "/v1/chat/completions", json=body) as response:
                if response.status != 200:
                    counts["failed"] += 1
                    continue
                async for line in response.content:
                    if not line.startswith(b"data: {"):
                        continue
                    choices = json.loads(line[6:]).get("choices") or [{}]
                    if (choices[0].get("delta") or {}).get("content"):
                        last = time.monotonic()
                        first = first or last
                        events += 1
        except (aiohttp.ClientError, asyncio.TimeoutError):
            counts["failed"] += 1
            continue
        if first is not None:
            answers.append((first - began, last - began, events))
            counts["completed"] += 1


async def by_aiohttp(url, model, users, tokens, seconds, ca_file):
    answers, counts = [], {"completed": 0, "failed": 0}
    tls = ssl.create_default_context(cafile=ca_file) if ca_file else None
    connector = aiohttp.TCPConnector(limit=0, ssl=tls)
    began = time.monotonic()
    async with aiohttp.ClientSession(connector=connector, read_bufsize=1 << 20) as session:
        tasks = [user(session, url, model, tokens, began + seconds, answers, counts) for _ in range(users)]
        await asyncio.gather(*tasks)
    wall = time.monotonic() - began
    return {
        "client": "aiohttp " + aiohttp.__version__,
        "completed": counts["completed"],
        "failed": counts["failed"],
        "requests_per_s": counts["completed"] / wall,
        "ttft_p50_s": quantile([a[0] for a in answers], 0.5),
        "ttft_p99_s": quantile([a[0] for a in answers], 0.99),
        "e2e_p50_s": quantile([a[1] for a in answers], 0.5),
        "events_per_answer": sum(a[2] for a in answers) / max(len(answers), 1),
    }


def by_warpmark(warpmark, url, model, users, tokens, seconds, ca_file):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        words = [warpmark, "load", "run", "--api-base", url, "--api-model-name", model, "--traffic-scenario"]
        words += ["D(24,%d)" % tokens, "--num-concurrency", str(users), "--max-time-per-run", "%gs" % seconds]
        words += ["--additional-request-params", json.dumps({"max_completion_tokens": tokens})]
        words += ["--no-store", "--no-calibrate", "--warmup-ratio", "0.001", "--json", out.name]
        ended = subprocess.run(words + (["--ca-file", ca_file] if ca_file else []), capture_output=True, text=True)
        try:
            load = json.load(open(out.name))["scenarios"][0]
        except (ValueError, KeyError, IndexError):
            return {"client": "warpmark", "problem": ended.stderr.strip()}
    metrics = load["metrics"]

    def percentile(name, p):
        samples = metrics.get(name, {}).get("samples", [])
        return quantile(samples, p)

    return {
        "client": "warpmark",
        "completed": load["requests"]["completed"],
        "failed": load["requests"]["failed"],
        "errors": load["errors"],
        "without_done_mark": load["requests"]["without_done_mark"],
        "requests_per_s": load["requests"]["completed"] / load["wall_s"],
        "ttft_p50_s": percentile("ttft", 0.5),
        "ttft_p99_s": percentile("ttft", 0.99),
        "e2e_p50_s": percentile("e2e", 0.5),
        "tokens": load["tokens"]["source"],
        "verdict": load["client"]["verdict"],
    }


def main():
    warpmark, url, model, users, tokens, seconds = sys.argv[1:7]
    rounds = int(sys.argv[7]) if len(sys.argv) > 7 else 2
    ca_file = sys.argv[8] if len(sys.argv) > 8 else None
    for _ in range(rounds):
        print(json.dumps(by_warpmark(warpmark, url, model, int(users), int(tokens), float(seconds), ca_file)))
        print(json.dumps(asyncio.run(by_aiohttp(url, model, int(users), int(tokens), float(seconds), ca_file))))


if __name__ == "__main__":
    main()
