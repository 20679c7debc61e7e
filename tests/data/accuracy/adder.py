"""A program that adds, and that misbehaves for some questions."""
import json, os, re, sys, time

log = os.environ.get("ADDER_LOG")
for line in sys.stdin:
    request = json.loads(line)
    a, b = [int(x) for x in re.findall(r"(\d+) and (\d+)", request["messages"][-1]["content"])[-1]]
    if log:
        with open(log, "a") as file:
            file.write(f"{a}\n")
    if os.environ.get("ADDER_SLOW"):
        time.sleep(0.2)
    if a == 3:
        print("no json", flush=True)
    elif a == 4:
        print(json.dumps({"text": " "}), flush=True)
    elif a == 5:
        print(json.dumps({"text": str(a + b), "finish_reason": "length"}), flush=True)
    elif a == 6:
        sys.exit(1)
    elif a == 7:
        sys.stdout.buffer.write(b'{"text": "\xff\xfe"}\n')
        sys.stdout.flush()
    else:
        print(json.dumps({"text": str(a + b), "usage": {"prompt_tokens": 10, "completion_tokens": 2}}), flush=True)
