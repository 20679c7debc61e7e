"""Work on several GPUs of one machine side by side: a lane each, with its share of the processors."""

import os
import queue
import subprocess
import threading
import time


def add_options(parser):
    parser.add_argument("--lanes", type=int, help="default: as many as GPUs")
    parser.add_argument("--first", type=int, default=0, help="GPU of the first lane")


def number_of(asked):
    if asked.lanes is not None:
        return asked.lanes
    listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True).stdout
    return len(listed.splitlines()) - asked.first


def run(asked, tasks, work):
    """work(todo, gpu, cpus) on each lane, in a thread of its own; it takes tasks off the queue `todo` for as long as it has time,
    and the others are told. `cpus` is as taskset takes them."""
    lanes = number_of(asked)
    todo = queue.Queue()
    for task in tasks:
        todo.put(task)
    cpus = sorted(os.sched_getaffinity(0))
    share = max(1, len(cpus) // lanes)
    threads = []
    for lane in range(lanes):
        own = ",".join(map(str, cpus[lane * share : (lane + 1) * share] or cpus))
        threads.append(threading.Thread(target=work, args=(todo, asked.first + lane, own)))
        threads[-1].start()
        time.sleep(1)  # so that the first in the queue begins first
    for thread in threads:
        thread.join()
    while not todo.empty():
        print("%s: no time left" % todo.get())
