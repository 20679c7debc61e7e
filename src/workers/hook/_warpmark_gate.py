"""A run waits for its turn, where several were started together (plan: "gate").

The folder takes `ready`, with the CPU seconds so far, once nothing of the run's is in flight; the run goes on when `go`
is there, or the folder is not.
"""

import os
import time

LOOK_S = 0.01  # a dozen that wait must not be seen by the one that steps


class Gate:
    def __init__(self, folder):
        self.folder, self.pid = folder, os.getpid()

    def wait(self):
        """Seconds waited; none in a child made by fork, as a loader's worker."""
        if os.getpid() != self.pid:
            return 0.0
        begin = time.perf_counter()
        with open(os.path.join(self.folder, "ready.part"), "w", encoding="ascii") as file:
            file.write("%.3f\n" % time.process_time())
        os.rename(os.path.join(self.folder, "ready.part"), os.path.join(self.folder, "ready"))
        go = os.path.join(self.folder, "go")
        while not os.path.exists(go) and os.path.isdir(self.folder):
            time.sleep(LOOK_S)
        return time.perf_counter() - begin


def of(plan):
    return Gate(plan["gate"]) if plan.get("gate") else None
