"""Trains or runs a network for warpmark, which says what and when over a socket: lines of JSON, one answer each.

Descriptors: WARPMARK_WORKER_FDS=SOCKET,MEMORY. Memory: two 64-bit numbers (version, records), then records of five: kind,
step, nanoseconds of CLOCK_MONOTONIC_RAW, and a double. What programs print goes where it always goes, not into the protocol.
"""

import ctypes
import json
import mmap
import os
import struct
import sys

PROTOCOL = 1


class Ring:
    STEP, LOSS, WHOLE, FIRST_PHASE = 0, 1, 2, 8
    PREFILL, TOKEN = 6, 7  # phases of decoding, behind those of training
    RECORD = struct.Struct("<qqqd")

    def __init__(self, fd):
        self.memory = mmap.mmap(fd, 0)
        self.most = (len(self.memory) - 16) // self.RECORD.size
        self.count = 0

    def reset(self):
        self.count = 0
        struct.pack_into("<qq", self.memory, 0, PROTOCOL, 0)

    def note(self, kind, step, t_ns, value=0.0):
        if self.count >= self.most:
            raise RuntimeError("the ring of %d records is full" % self.most)
        self.RECORD.pack_into(self.memory, 16 + self.count * self.RECORD.size, kind, step, t_ns, value)
        self.count += 1
        struct.pack_into("<q", self.memory, 8, self.count)


def torches():
    """Every torch that the path offers, first come first: the one that is imported and those that hide behind it."""
    found = []
    for folder in sys.path:
        version = os.path.join(folder or ".", "torch", "version.py")
        if os.path.isfile(version) and version not in found:
            found.append(version)
    return [os.path.dirname(v) for v in found]


class Worker:
    def __init__(self, ring):
        self.ring = ring
        self.training = None

    def hello(self, ask):
        try:
            import torch
        except ImportError as problem:
            return refusal(
                "unsupported",
                "%s cannot import torch: %s" % (sys.executable, problem),
                "install PyTorch for it (Debian: python3-torch), or name another: --set python=/path/to/python3",
            )
        import _warpmark_versions

        why = _warpmark_versions.too_old(torch)
        if why:
            return refusal("unsupported", why, "name a newer one: --set python=/path/to/python3")
        return {
            "protocol": PROTOCOL,
            "python": sys.version.split()[0],
            "executable": sys.executable or "python",
            "torch": str(torch.__version__),
            "cuda": torch.version.cuda or "",
            "places": torches(),
            "imported": os.path.dirname(torch.__file__),
            "pid": os.getpid(),
            "threads": torch.get_num_threads(),
        }

    def prepare(self, ask):
        import wm_training

        if ask["pass"] == "decode":
            import wm_decoding

            self.training = wm_decoding.Decoding(ask)
        else:
            self.training = wm_training.Training(ask)
        networks, tasks = wm_training.networks, wm_training.tasks
        t = self.training
        return {
            "parameters": networks.parameters_of(t.model),
            "forward_flops": t.flops,
            "counted_words": getattr(t, "counted_words", 0),
            "chance_level": tasks.chance_level_loss(t.name, t.config),
            "faults": t.host.faults,
        }

    def run(self, ask):
        self.ring.reset()
        steps = int(ask["steps"])
        self.training.taken = int(ask.get("samples", 0)) or None
        window = self.training.phases if ask.get("phases") else self.training.window
        begin, end = window(steps, self.ring)
        return {"steps": steps, "begin_ns": begin, "end_ns": end, "records": self.ring.count}

    def check(self, ask):
        return {"error": self.training.reference(), "differing": getattr(self.training, "differing", 0)}

    def until(self, ask):
        import wm_quality

        return wm_quality.train_until(self.training, ask)

    def serve(self, ask):
        import wm_server

        return {"port": wm_server.serve(self.training, ask["host"], int(ask["port"]))}

    def shapes(self, ask):
        import wm_shapes

        return {"shapes": wm_shapes.shapes_of(self.training)}

    def record(self, ask):
        """Starts warpmark's recorder in this process, or ends it when all that was recorded is done."""
        if ask["on"]:
            os.environ.update(ask["variables"])
            self.recorder = ctypes.CDLL(ask["library"])
            if self.recorder.warpmark_recording_start() != 1:
                return refusal("unsupported", "this process is recorded already")
        else:
            self.training.synchronize()
            self.recorder.warpmark_recording_stop()
        return {}

    def state(self, ask):
        return {"digest": self.training.digest(), "memory": self.training.memory(), "knobs": self.training.knob_states()}


def refusal(kind, what, hint=""):
    return {"refused": kind, "what": what, "hint": hint}


# What torch's allocators, cuBLAS, cuDNN and oneDNN say of it; each as a RuntimeError.
OUT_OF_MEMORY = ("allocate memory", "bad_alloc", "_STATUS_ALLOC_FAILED", "could not create a memory object", "out of memory")


def is_out_of_memory(problem):
    said = str(problem)
    return isinstance(problem, MemoryError) or type(problem).__name__ == "OutOfMemoryError" or any(
        words in said for words in OUT_OF_MEMORY
    )


def answer(worker, ask):
    operation = ask.get("ask")
    if operation not in ("hello", "prepare", "run", "check", "state", "shapes", "until", "serve", "record"):
        return refusal("internal", "there is no operation %r" % (operation,))
    try:
        return getattr(worker, operation)(ask)
    except Exception as problem:
        name = type(problem).__name__
        if name == "Refused":
            return refusal(problem.kind, problem.what, problem.hint)
        if is_out_of_memory(problem):
            refused = refusal(
                "environment",
                "not enough memory: " + str(problem).strip().split("\n")[0],
                "a smaller batch or preset, --set checkpoint=yes, or --set accumulate",
            )
            return dict(refused, out_of_memory=True)
        import traceback

        traceback.print_exc()
        return refusal("data", "%s: %s" % (name, str(problem).strip().split("\n")[0]), "its whole message is above")


def main():
    control, memory = (int(fd) for fd in os.environ["WARPMARK_WORKER_FDS"].split(","))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    worker = Worker(Ring(memory))
    with os.fdopen(control, "r+b", buffering=0) as channel:
        rest = b""
        while True:
            piece = channel.read(65536)
            if not piece:
                return
            rest += piece
            while b"\n" in rest:
                line, rest = rest.split(b"\n", 1)
                ask = json.loads(line)
                text = json.dumps(dict(answer(worker, ask), ask=ask.get("ask"), number=ask.get("number")))
                channel.write(text.encode() + b"\n")


if __name__ == "__main__":
    main()
