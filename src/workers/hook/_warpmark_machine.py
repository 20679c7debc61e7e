"""Facts of the machine that knobs of a process need: NUMA nodes, where the GPUs are, allocators that are installed."""

import glob
import os

ALLOCATORS = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4")
FOLDERS = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")


def facts():
    cpus = os.sched_getaffinity(0)
    return {
        "node_cpus": node_cpus(),
        "gpu_node": gpu_node(),
        "allowed_cpus": as_list(cpus),
        "allocators": allocators(),
        "taskset": any(os.access(os.path.join(p, "taskset"), os.X_OK) for p in os.environ.get("PATH", "").split(":")),
    }


def read(path):
    with open(path) as file:
        return file.read().strip()


def node_cpus():
    """Of each node; none where a container hides them."""
    folders = glob.glob("/sys/devices/system/node/node[0-9]*")
    try:
        return [read(f + "/cpulist") for f in sorted(folders, key=lambda f: int(f.rsplit("node", 1)[1]))]
    except OSError:
        return []


def gpu_node():
    """Of all NVIDIA GPUs of the machine; -1 where they differ, as which of them the program uses is not known here."""
    nodes = set()
    for folder in glob.glob("/proc/driver/nvidia/gpus/*"):
        try:
            nodes.add(int(read("/sys/bus/pci/devices/%s/numa_node" % os.path.basename(folder).lower())))
        except (OSError, ValueError):
            return -1
    return nodes.pop() if len(nodes) == 1 else -1


def allocators():
    found = []
    for name in ALLOCATORS:
        for pattern in FOLDERS:
            paths = sorted(glob.glob(os.path.join(pattern, name)))
            if paths:
                found.append(paths[0])
                break
    return found


def as_list(cpus):
    """{0, 1, 2, 5} as "0-2,5", as the kernel writes it."""
    parts, begin, last = [], None, None
    for cpu in sorted(cpus) + [None]:
        if last is not None and cpu == last + 1:
            last = cpu
            continue
        if last is not None:
            parts.append("%d" % begin if begin == last else "%d-%d" % (begin, last))
        begin = last = cpu
    return ",".join(parts)


def as_set(text):
    cpus = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def affinity_problem(wanted):
    """Empty where the process is bound so. Processors that are not there, taskset leaves out."""
    now = os.sched_getaffinity(0)
    return None if now and now <= as_set(wanted) else "it may use the processors %s" % as_list(now)


def preload_problem(value):
    """The dynamic loader ignores what it cannot load, and says so on stderr only."""
    maps = read("/proc/self/maps")
    missing = [path for path in value.replace(" ", ":").split(":") if path and os.path.realpath(path) not in maps]
    return "%s is not loaded" % ", ".join(missing) if missing else None
