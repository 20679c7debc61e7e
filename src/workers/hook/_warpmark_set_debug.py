"""Debugging aids that slow a program down, and that the settings switch off. `debugging` tells whether one is on."""

import os
import sys

from _warpmark_setting import Setting

COMPILERS = ("torch._functorch.", "torch._dynamo.", "functorch.")
TAKEN_OFF = "WARPMARK_TAKEN_OFF"


def take_off(variable):
    """Whether it was set: here, or in a launcher that has taken it off and started this process."""
    taken = set(filter(None, os.environ.get(TAKEN_OFF, "").split(",")))
    if os.environ.pop(variable, None) is None and variable not in taken:
        return False
    os.environ[TAKEN_OFF] = ",".join(sorted(taken | {variable}))
    return True


def within_compiler():
    """Whether a compiler entered torch.autograd's context manager, which calls this function's caller."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "") in ("torch.autograd.anomaly_mode", "contextlib"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").startswith(COMPILERS)


class AnomalyDetection(Setting):
    """Both context managers of torch.autograd call this function of torch. So does a compiler while it traces."""

    name = "debug.anomaly_detection"
    switchable = True
    debugging = False

    def install(self):
        def make(old):
            def set_anomaly_enabled(enabled, check_nan=True):
                if enabled and not within_compiler():
                    if self.value is not None:
                        self.did()
                        enabled = False
                    else:
                        self.debugging = True
                return old(enabled, check_nan)

            return set_anomaly_enabled

        self.hook.replace(self.torch, "set_anomaly_enabled", make)

    def apply(self):
        self.was_on = self.torch.is_anomaly_enabled()
        if self.was_on:
            self.torch.set_anomaly_enabled(False)
            self.did()

    def undo(self):
        if self.was_on:
            self.torch.set_anomaly_enabled(True)

    def lost(self):
        return "the program switches it on otherwise" if self.torch.is_anomaly_enabled() else None

    def acts(self):
        return int(self.torch.is_anomaly_enabled() or self.debugging)


class LaunchBlocking(Setting):
    """CUDA reads the variable when it starts, which is after the import, and before the hook looks at the GPUs."""

    name = "debug.launch_blocking"
    debugging = False
    VARIABLE = "CUDA_LAUNCH_BLOCKING"

    def environment(self):
        is_set = os.environ.get(self.VARIABLE, "0") != "0"
        if self.value is None:
            self.debugging = is_set
            return
        if not is_set:
            os.environ.pop(self.VARIABLE, None)
        if take_off(self.VARIABLE):
            self.did()
        else:
            self.cannot("the variable is not set")

    def lost(self):
        return "the program sets it again" if self.VARIABLE in os.environ else None


class Caching(Setting):
    """The allocator reads the variable at its first tensor: time enough after the import."""

    name = "memory.caching"
    VARIABLE = "PYTORCH_NO_CUDA_MEMORY_CACHING"

    def environment(self):
        if self.value is None:
            return
        if take_off(self.VARIABLE):
            self.did()
        else:
            self.cannot("the variable is not set")

    def lost(self):  # without the cache nothing is ever reserved
        return None if self.torch.cuda.max_memory_reserved() > 0 else "no memory was kept"


class NoEmptyCache(Setting):
    """Calls in the loop are counted in any case; the setting leaves them out."""

    name = "memory.no_empty_cache"
    switchable = True

    def install(self):
        recorder = self.hook.recorder

        def make(old):
            def empty_cache():
                if recorder.steps_seen > 0:
                    recorder.emptied += 1
                    if self.value is not None:
                        return self.did()
                return old()

            return empty_cache

        self.hook.replace(self.torch.cuda, "empty_cache", make)

    def acts(self):
        return self.hook.recorder.emptied


SETTINGS = (AnomalyDetection, LaunchBlocking, Caching, NoEmptyCache)
