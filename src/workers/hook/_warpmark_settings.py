"""All settings of a process: what the hook calls of each, and what it reports of them."""

import inspect

import _warpmark_set_attention as attention
import _warpmark_set_compile as compiling
import _warpmark_set_debug as debug
import _warpmark_set_loader as loader
import _warpmark_set_model as model
import _warpmark_set_optimizer as optimizer
import _warpmark_set_precision as precision
import _warpmark_set_process as process
import _warpmark_set_ranks as ranks
from _warpmark_setting import Setting

# In the order in which they surround a call; a compiler is prepared last, as it sees what the others changed.
MODULES = (ranks, model, precision, attention, optimizer, loader, debug, process, compiling)
KINDS = [kind for module in MODULES for kind in module.SETTINGS]


class Settings:

    def __init__(self, torch, wanted, hook):
        self.torch = torch
        self.hook = hook
        self.wanted = dict(wanted)
        self.modules = model.Modules()  # that the program calls from outside
        self.by_name = {kind.name: kind(self, self.wanted.get(kind.name)) for kind in KINDS}
        for name, value in self.wanted.items():
            if name not in self.by_name:
                self.by_name[name] = (process.Variable if name.startswith("env.") else Setting)(self, value)
                self.by_name[name].name = name
        self.wrapping = [one for one in self.by_name.values() if type(one).around is not Setting.around]

    def __getitem__(self, name):
        return self.by_name[name]

    def value(self, name):
        return self.by_name[name].value

    def environment(self):
        for setting in self.by_name.values():
            setting.environment()

    def install(self):
        for setting in self.by_name.values():
            self.hook.guarded("setting " + setting.name, setting.install, None)
        if any(name.startswith("ddp.") or name in ("compile", "channels_last") for name in self.wanted):
            self.hook.guarded("setting ddp", self.watch_wrapper, None)

    def watch_wrapper(self):
        """DistributedDataParallel: its arguments, and its module before it is wrapped."""
        from torch.nn.parallel import DistributedDataParallel

        settings = self
        ranks = [one for one in self.by_name.values() if one.name.startswith("ddp.") and one.value is not None]

        def make(old):
            def __init__(wrapper, module, *args, **kwargs):
                bound = inspect.signature(old).bind(wrapper, module, *args, **kwargs)
                for setting in ranks:
                    settings.hook.guarded(setting.name, setting.arguments, None, bound.arguments)
                settings.hook.guarded("ddp module", settings.prepare, None, module)
                old(*bound.args, **bound.kwargs)
                for setting in ranks:
                    settings.hook.guarded(setting.name, setting.wrapped, None, wrapper)

            return __init__

        self.hook.replace(DistributedDataParallel, "__init__", make)

    def prepare(self, module):
        if self.modules.add(module):
            for setting in self.by_name.values():
                self.hook.guarded("setting " + setting.name, setting.prepare, None, module)

    def around(self, called, args, kwargs, run):
        """A call of a module from outside, with all settings that are on."""
        for setting in reversed(self.wrapping):
            if setting.value is not None:
                run = wrapped(setting, run)
        return run(called, *args, **kwargs)

    def loader_arguments(self, init, loader, args, kwargs):
        wanted = [one for one in self.by_name.values() if one.name.startswith("loader.") and one.name in self.wanted]
        if not wanted:
            return args, kwargs
        bound = inspect.signature(init).bind(loader, *args, **kwargs)
        for setting in wanted:
            setting.arguments(bound.arguments)
        return bound.args[1:], bound.kwargs

    def notify(self, report):
        for state in self.states():
            report.add("knob", **state)

    def states(self):
        """Of each setting that was wanted: whether it is in force, in how many places, and what is to be said of it."""
        for name, value in self.wanted.items():
            setting = self.by_name[name]
            problem = setting.problem()
            yield dict(id=name, value=value, in_force=not problem, places=setting.changed, said=problem or setting.note)

    def notify_acts(self, report):
        """How many places of the program each setting could change: one without any need not be tried."""
        for setting in self.by_name.values():
            places = self.hook.guarded("acts: " + setting.name, setting.acts, None)
            if places is not None:
                report.add("acts", knob=setting.name, places=places)

    def notify_debugging(self, report):
        on = [one.name for one in self.by_name.values() if getattr(one, "debugging", False)]
        if on:
            report.add("debugging", knobs=on)


def wrapped(setting, run):
    return lambda called, *args, **kwargs: setting.around(run, called, *args, **kwargs)
