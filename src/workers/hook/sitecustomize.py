"""Loaded by Python at its start, because warpmark put this folder first into PYTHONPATH.

It says hello, watches for the import of torch, and hands over to the sitecustomize that the interpreter would have
loaded without it. Nothing of torch is touched before the program imports it; only the standard library is used; and
whatever goes wrong here is written into the report and never reaches the program.
"""


def _begin():
    import os
    import sys

    folder = os.path.dirname(os.path.abspath(__file__))
    # The program sees the path it would have seen; processes that it starts inherit the variable, and so the hook.
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != folder]
    stacks = os.environ.get("WARPMARK_STACKS")
    ranges = os.environ.get("WARPMARK_RECORD_RANGE") and os.environ.get("CUDA_INJECTION64_PATH")
    if not os.environ.get("WARPMARK_HOOK") and not stacks and not ranges:
        return
    sys.path.insert(0, folder)
    try:
        import _warpmark_start

        if stacks:
            import _warpmark_stacks

            _warpmark_stacks.begin(stacks, _warpmark_start.Watcher, _warpmark_start.Report)
        if ranges:
            import _warpmark_ranges

            _warpmark_ranges.begin(ranges, folder, _warpmark_start.Watcher, _warpmark_start.Report)
        if os.environ.get("WARPMARK_HOOK"):
            _warpmark_start.begin(folder)
    except Exception:  # the program must start as if nothing had been tried
        pass
    finally:
        sys.path.remove(folder)


def _hand_over():
    import sys

    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401  the one that would have been loaded without ours
    except ImportError as missing:
        if getattr(missing, "name", None) != "sitecustomize":
            raise
    finally:
        if "sitecustomize" not in sys.modules and own is not None:
            sys.modules["sitecustomize"] = own


_begin()
_hand_over()
