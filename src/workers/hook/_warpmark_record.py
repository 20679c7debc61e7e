"""Steps recorded with PyTorch's profiler: command "record" of the lab."""

import os

import _warpmark_blocks as blocks
import _warpmark_commands as commands
import _warpmark_profile as profile


class Record(commands.Command):
    def __init__(self, lab, wanted):
        super().__init__(lab, wanted)
        self.variant = blocks.Variant(lab, 0, wanted.get("knobs", {}))
        self.profile = profile.Profile(lab.torch, wanted, lab.hook.report)
        self.count = 0

    def begin(self):
        self.lab.switch_to(self.variant)
        return self.step(None)

    def step(self, row):
        whole = self.profile.step(self.count)
        self.count += 1
        if not (whole or self.profile.over or self.variant.failed):
            return False
        self.profile.finish()
        self.lab.switch_to(None)
        return True

    def answer(self):
        self.profile.finish()
        files = sum(os.path.getsize(path) > 0 for path in self.profile.files)
        return dict(self.variant.answer(), failed=self.failed or self.variant.failed, files=files)
