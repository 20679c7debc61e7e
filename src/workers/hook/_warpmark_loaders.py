"""Loader settings that are switched while the program iterates its loader.

While they are on, batches come from a second DataLoader over the same dataset. Both read one order of indices: whoever
serves next continues where the other one stopped. The second loader keeps its workers, to be switched on again fast.
"""

import collections
import weakref

OF_WORKERS = ("loader.persistent_workers", "loader.prefetch_factor")


class Indices:
    """Of one epoch. Workers get some ahead of time; those not served yet go back when another loader serves."""

    def __init__(self, source):
        self.source = source
        self.returned = collections.deque()
        self.taken = collections.deque()

    def __iter__(self):
        return self

    def __next__(self):
        index = self.returned.popleft() if self.returned else next(self.source)
        self.taken.append(index)
        return index

    def served(self):
        if self.taken:
            self.taken.popleft()

    def take_back(self):
        self.returned.extendleft(reversed(self.taken))
        self.taken.clear()


class First:
    """What is known of an iterator of the program: the arguments of its loader, and who serves its batches."""

    def __init__(self, iterator, loader, workers, timeout):
        self.indices = iterator._sampler_iter = Indices(iterator._sampler_iter)
        self.batches = bool(iterator._auto_collation)
        self.workers = workers
        self.has_workers = loader.num_workers == workers  # else they were not started, as another loader serves
        self.pins = bool(iterator._pin_memory)
        self.keeps_workers = bool(getattr(loader, "persistent_workers", False))
        self.at_start = True  # of its epoch
        self.prefetch = loader.prefetch_factor or 2
        self.seed = iterator._base_seed
        self.arguments = dict(
            dataset=loader.dataset,
            collate_fn=loader.collate_fn,
            worker_init_fn=loader.worker_init_fn,
            timeout=timeout,
        )
        self.context = loader.multiprocessing_context
        self.second = None
        self.stale = 0  # batches that its own workers prepared, and that another loader has served


class Second:
    """A loader of ours, for one iterator of the program at a time."""

    def __init__(self, key, loader):
        self.key = key
        self.loader = loader
        self.indices = None
        self.user = None  # a weak reference to an iterator of the program
        self.iterator = None

    def __iter__(self):  # it is its loader's sampler
        return self.indices

    def is_free(self):
        return self.user is None or self.user() is None

    def close(self):
        shut_down = getattr(self.iterator, "_shutdown_workers", None)
        if shut_down is not None:
            shut_down()


class Loaders:
    def __init__(self, hook):
        self.hook = hook
        self.torch = hook.torch
        self.wanted = {}  # settings that are on
        self.seconds = []
        self.making = False  # a loader of ours
        self.spared = None  # workers and timeout of a loader whose iterator is made without workers

    # Called by the iterators of the program

    def began(self, iterator, loader):
        from torch.utils.data import IterableDataset

        if self.making:
            return
        before = getattr(iterator, "_warpmark", None)
        if before is not None and before.second is not None:
            before.second.user = None
        iterator._warpmark = None
        if not isinstance(loader.dataset, IterableDataset):
            iterator._warpmark = First(iterator, loader, *(self.spared or (loader.num_workers, loader.timeout)))

    def iterator_of(self, loader, own):
        """At the begin of an epoch. A loader of ours serves: the program's own need not start workers."""
        from torch.utils.data import IterableDataset

        spares = self.wanted and loader.num_workers > 0 and not getattr(loader, "persistent_workers", False)
        if self.making or not spares or isinstance(loader.dataset, IterableDataset):
            return own(loader)
        self.spared = loader.num_workers, loader.timeout
        loader.num_workers = loader.timeout = 0
        try:
            return own(loader)
        finally:
            loader.num_workers, loader.timeout = self.spared
            self.spared = None

    def next(self, iterator, own_next):
        first = getattr(iterator, "_warpmark", None)
        if first is None:
            self.refuse("an IterableDataset would be read once by each worker")
            return own_next(iterator)
        second = None
        if self.wanted or first.second is not None or not first.has_workers:
            try:
                second = self.server_of(iterator, first)
            except Exception as problem:
                self.fail(problem)
        first.at_start = False
        if second is not None:
            try:
                batch = own_next(second.iterator)
                first.indices.served()
                return batch
            except StopIteration:
                second.user = first.second = None
                raise
            except Exception as problem:
                self.seconds.remove(second)
                self.fail(problem)
        if first.second is not None:
            self.leave(first)
        return self.own(iterator, first, own_next)

    def own(self, iterator, first, own_next):
        """Its queue is as empty after a switch as that of the other loader was."""
        while first.stale > 0:
            first.stale -= 1
            try:
                own_next(iterator)
            except StopIteration:
                raise
            except Exception:  # of a batch that was served already
                pass
        batch = own_next(iterator)
        first.indices.served()
        return batch

    def fail(self, problem):
        """The settings are off then, and the program gets the same batch from its own loader."""
        self.hook.recorder.lab.take_failure(problem)
        self.wanted = {}

    def refuse(self, why):
        for name in self.wanted:
            self.hook.settings[name].why_not = why

    # Switching

    def server_of(self, iterator, first):
        """Ours, or None where the program's own loader serves."""
        key = self.key_of(first)
        if first.second is not None and first.second.key == key:
            return first.second
        if key is None:
            return None
        if iterator._sampler_iter is not first.indices:
            self.refuse("the program's loader is not PyTorch's own")
            return None
        if first.second is not None:
            self.leave(first)
        first.stale = getattr(iterator, "_send_idx", 0) - getattr(iterator, "_rcvd_idx", 0)
        first.indices.take_back()
        if first.at_start and not first.keeps_workers and "loader.persistent_workers" not in self.wanted:
            self.close_free(key)  # workers that start with each epoch
        first.second = second = self.free_second(key) or self.make_second(key, first)
        second.user = weakref.ref(iterator)
        second.indices = first.indices
        self.making = True
        try:
            second.iterator = iter(second.loader)
        finally:
            self.making = False
        return second

    def leave(self, first):
        first.second.user = first.second = None
        first.indices.take_back()

    def key_of(self, first):
        """What the wanted settings make of this loader; None: nothing else than it is."""
        if not self.wanted and first.has_workers:
            return None
        workers = int(self.wanted.get("loader.workers", first.workers))
        prefetch = int(self.wanted.get("loader.prefetch_factor", first.prefetch))
        pins = first.pins or ("loader.pin_memory" in self.wanted and self.torch.cuda.is_available())
        changes = {
            "loader.workers": workers != first.workers or "the loader has %d workers" % workers,
            "loader.pin_memory": pins != first.pins or ("the loader does so" if pins else "there is no GPU to copy to"),
            "loader.persistent_workers": not first.keeps_workers or "the loader does so",
            "loader.prefetch_factor": (prefetch, workers) != (first.prefetch, first.workers) or "it is %d" % prefetch,
        }
        if workers == 0:
            changes.update(dict.fromkeys(OF_WORKERS, "the loader has no workers"))
        made = {name for name in self.wanted if changes[name] is True}
        for name in self.wanted:
            if name in made:
                self.hook.settings[name].did()
            else:
                self.hook.settings[name].why_not = changes[name]
        if not made and first.has_workers:
            return None
        collate = first.arguments["collate_fn"]  # of a bound method there is a new object each time
        who = (id(getattr(collate, "__func__", collate)), id(getattr(collate, "__self__", None)))
        return (id(first.arguments["dataset"]), who, first.batches, workers, pins, prefetch)

    def free_second(self, key):
        return next((s for s in self.seconds if s.key == key and s.is_free()), None)

    def close_free(self, key):
        old = self.free_second(key)
        if old is not None:
            self.seconds.remove(old)
            old.close()

    KEPT = 4  # loaders of ours with nothing to serve, with their workers

    def make_second(self, key, first):
        workers, pins, prefetch = key[3:]
        free = [s for s in self.seconds if s.is_free()]
        for old in free[: max(0, len(free) - self.KEPT)]:
            self.seconds.remove(old)
            old.close()
        second = Second(key, None)
        arguments = dict(first.arguments, num_workers=workers, pin_memory=pins)
        arguments.update({"batch_sampler": second} if first.batches else {"batch_size": None, "sampler": second})
        arguments["generator"] = self.torch.Generator().manual_seed(first.seed)  # draws nothing of the program's
        if workers > 0:
            arguments.update(persistent_workers=True, prefetch_factor=prefetch, multiprocessing_context=first.context)
        self.making = True
        try:
            from torch.utils.data import dataloader

            second.loader = dataloader.DataLoader(**arguments)
        finally:
            self.making = False
        self.seconds.append(second)
        return second

    def close(self):
        """At the exit of the program."""
        for second in self.seconds:
            second.close()
