"""The PyTorch that the hook and the models' workers know: from 1.13 on."""

import re

OLDEST = "1.13"


def numbers(version):
    """The first two: "1.8.0a0+cu" is (1, 8)."""
    return tuple(int(n) for n in re.findall(r"\d+", version)[:2])


def too_old(torch):
    """Why nothing is done with this torch; empty: something is."""
    version = str(torch.__version__)
    if numbers(version) >= numbers(OLDEST):
        return ""
    return "torch %s is older than %s" % (version, OLDEST)
