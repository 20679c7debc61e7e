"""Settings of loaders: as arguments of the program's own, or by a second loader (_warpmark_loaders.py) in a lab."""

from _warpmark_setting import Setting


class LoaderSetting(Setting):
    """Together they say which loader serves."""

    switchable = True
    nothing = "no loader was read in these steps"

    def apply(self):
        self.why_not = ""
        self.hook.loaders.wanted = dict(self.hook.loaders.wanted, **{self.name: self.value})

    def undo(self):
        loaders = self.hook.loaders
        loaders.wanted = {name: value for name, value in loaders.wanted.items() if name != self.name}

    def arguments(self, given):
        """Of a loader that the program makes."""

    def has_workers(self, given):
        if given.get("num_workers", 0) > 0:
            self.did()
            return True
        self.cannot("the loader has no workers")
        return False


class Workers(LoaderSetting):
    name = "loader.workers"

    def arguments(self, given):
        from torch.utils.data import IterableDataset

        if isinstance(given.get("dataset"), IterableDataset):
            return self.cannot("an IterableDataset would be read once by each worker")
        given["num_workers"] = int(self.value)
        if int(self.value) == 0:
            given.pop("prefetch_factor", None)
            given.pop("persistent_workers", None)
        self.did()


class PinMemory(LoaderSetting):
    name = "loader.pin_memory"

    def arguments(self, given):
        if not self.torch.cuda.is_available():
            return self.cannot("there is no GPU to copy to")
        given["pin_memory"] = True
        self.did()


class PersistentWorkers(LoaderSetting):
    name = "loader.persistent_workers"

    def arguments(self, given):
        if self.has_workers(given):
            given["persistent_workers"] = True


class PrefetchFactor(LoaderSetting):
    name = "loader.prefetch_factor"

    def arguments(self, given):
        if self.has_workers(given):
            given["prefetch_factor"] = int(self.value)


SETTINGS = (Workers, PinMemory, PersistentWorkers, PrefetchFactor)
