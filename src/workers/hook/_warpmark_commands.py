"""Commands of the lab: what a command has to do, and the errors that it answers with."""


class Cannot(Exception):
    """Why a setting changes nothing in this process. The variant goes on without it."""


class Elsewhere(Cannot):
    """It may change something, but not in a process that runs already."""


def text_of(problem):
    """Its first line: those of compilers go on for pages."""
    first = (str(problem).splitlines() or [""])[0]
    return ("%s: %s" % (type(problem).__name__, first))[:200]


class Command:
    def __init__(self, lab, wanted):
        self.lab = lab
        self.wanted = wanted
        self.failed = ""

    def begin(self):
        """True where it is over, as of `step`."""
        return True

    def step(self, row):
        return True

    def restart(self):
        pass

    def before_forward(self, module, args, kwargs, run):
        pass

    def broken(self, why):
        """After an error of our own."""
        self.failed = why
        return True

    def answer(self):
        return {"failed": self.failed}
