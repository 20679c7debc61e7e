"""What marks the ends of steps, of all that the program calls."""

import weakref

PHASE_OVER = 16  # steps of another optimizer than usual, after which the program has gone on to another phase
EAGER = 8  # steps of an optimizer with no replay between them, after which graphs are not the steps any more


class Marker:
    def __init__(self, another):
        self.another = another  # called where another optimizer takes over
        self.kind = None  # "optimizer", "backward", "forward" or "graph"
        self.one = None  # a weak reference to the optimizer or the module
        self.between = self.most_between = 0  # steps of other optimizers since the marker's last one; most of them
        self.eager = 0  # steps of optimizers since a replay that was one

    def ends_step(self, kind, one):
        """The first of its kind does, and the next where that is gone or steps no more, as in an earlier fold or phase."""
        if self.kind is None or (self.kind == kind and self.one() is None):
            self.kind, self.one = kind, weakref.ref(one)
        if self.kind != kind:
            return False
        if self.one() is one:
            self.most_between, self.between = max(self.most_between, self.between), 0
            return True
        self.between += 1
        if kind != "optimizer" or self.between <= PHASE_OVER + 2 * self.most_between:
            return False
        self.one, self.between, self.most_between = weakref.ref(one), 0, 0
        self.another()
        return True

    def is_in_graphs(self):
        """At each step of an optimizer: whether replays are the steps still."""
        self.eager += 1
        return self.kind == "graph" and self.eager < EAGER
