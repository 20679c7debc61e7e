"""Settings of a program: one class for each, in the modules _warpmark_set_*.py.

A setting is on from the start of a process (the plan names it), or a lab switches it on and off between two steps. It
counts the places that it changed. One that found nothing to change, or that the program took back, says so: its
variant does not count.
"""

from _warpmark_commands import Cannot


class Setting:
    """`value` is what it is set to, None while it is off."""

    name = ""
    switchable = False  # by `on` and `off`, in a process that runs
    nothing = "nothing in %s that it could change"

    def __init__(self, settings, value=None):
        self.settings = settings
        self.torch = settings.torch
        self.hook = settings.hook
        self.value = value
        self.former = None
        self.changed = 0  # places
        self.before = 0  # places when it was switched on
        self.why_not = ""  # it did not change one
        self.note = ""  # worth reporting although it is in force

    def did(self, count=1):
        self.changed += count

    def cannot(self, why):
        self.why_not = self.why_not or why

    def in_lab(self):
        return self.hook.recorder.lab is not None

    # For a process of its own

    def environment(self):
        """After the import of torch and before CUDA starts, which reads the variables."""

    def install(self):
        """After the import of torch. In a lab also while it is off."""

    def prepare(self, module):
        """At the first call of a module from outside, or before DistributedDataParallel wraps it."""

    def around(self, run, called, *args, **kwargs):
        """A call of a module from outside while it is on. `run` takes the module and its arguments."""
        return run(called, *args, **kwargs)

    # For a lab

    def on(self, value):
        self.former, self.value = self.value, value
        self.before = self.changed
        try:
            self.apply()
        except Exception:
            self.value = self.former
            raise

    def off(self):
        self.value = self.former
        self.undo()

    def apply(self):
        """Raises Cannot where it changes nothing in this process, Elsewhere where only a new process can have it."""

    def undo(self):
        """`value` is what it was before."""

    def acts(self):
        """How many places of the program it could change. None: not known."""

    # For both

    def lost(self):
        """Why it is not in force although it changed something, or None."""

    def problem(self):
        """Why it is not in force, or None."""
        if self.changed > self.before:
            return self.lost()
        place = "these steps" if self.switchable and self.in_lab() else "the program"
        return self.why_not or self.nothing.replace("%s", place)


class Flag(Setting):
    """An attribute of a module of torch. A subclass has `place`: the object, its attribute and the value."""

    switchable = True

    def install(self):
        if self.value is not None:
            self.put()

    def put(self):
        owner, attribute, value = self.place()
        setattr(owner, attribute, value)
        self.did()

    def apply(self):
        owner, attribute, wanted = self.place()
        self.found = getattr(owner, attribute)
        if self.found == wanted:
            raise Cannot("the program does so")
        self.put()

    def undo(self):
        owner, attribute, _ = self.place()
        setattr(owner, attribute, self.found)

    def lost(self):
        owner, attribute, value = self.place()
        return None if getattr(owner, attribute) == value else "the program set it back"
