"""A load client as most tools have it, on aiohttp: closed loop, streaming chat, one coroutine a user. bench/serving.sh runs
it beside `warpmark load run` against one server. Its times stand beside the server's own: every event says when it was
sent (CLOCK_MONOTONIC), so the difference is what the client adds.

usage: serving_peer.py URL USERS TOKENS SECONDS
"""

import asyncio
import json
import resource
import sys
import time

import aiohttp


async def user(session, url, tokens, until, first, events, counts):
    body = {
        "model": "reference",
        "messages": [{"role": "user", "content": "word " * 20}],
        "max_tokens": tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    while time.monotonic() < until:
        seen = False
        try:
            async with session.post(url + "/v1/chat/completions", json=body) as response:
                async for line in response.content:
                    now = time.monotonic_ns()
                    if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                        continue
                    event = json.loads(line[6:])
                    sent = event.get("warpmark_sent_ns")
                    if sent is None:
                        continue
                    events.append(now - sent)
                    if not seen:
                        first.append(now - sent)
                        seen = True
            counts["completed"] += 1
        except (aiohttp.ClientError, asyncio.TimeoutError):
            counts["failed"] += 1


def quantile(values, p):
    values.sort()
    return values[int(p * (len(values) - 1))] * 1e-9 if values else None


async def main():
    url, users, tokens, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    first, events, counts = [], [], {"completed": 0, "failed": 0}
    connector = aiohttp.TCPConnector(limit=0)
    began = time.monotonic()
    async with aiohttp.ClientSession(connector=connector, read_bufsize=1 << 20) as session:
        tasks = [user(session, url, tokens, began + seconds, first, events, counts) for _ in range(users)]
        await asyncio.gather(*tasks)
    wall = time.monotonic() - began
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "client": "aiohttp " + aiohttp.__version__,
                "streams": users,
                "seconds": wall,
                "completed": counts["completed"],
                "failed": counts["failed"],
                "events": len(events),
                "events_per_s": len(events) / wall,
                "first_token_error_p50_s": quantile(first, 0.5),
                "first_token_error_p99_s": quantile(first, 0.99),
                "event_error_p50_s": quantile(events, 0.5),
                "event_error_p99_s": quantile(events, 0.99),
                "cpu_us_per_event": (usage.ru_utime + usage.ru_stime) * 1e6 / max(len(events), 1),
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
