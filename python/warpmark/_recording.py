"""Recording a part of this program: what the GPU does between the begin and the end of a `with` block."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import tempfile
from types import TracebackType
from typing import Any, Iterator, Mapping, Optional, Type
from contextlib import contextmanager

from ._program import WarpmarkError, library
from ._results import Analysis
from ._verbs import Path, analyze


class Recording:
    """`with warpmark.record() as recording: ...`; afterwards `recording.analysis`."""

    def __init__(self, out: Optional[Path], memory: bool, cupti: Optional[Path]) -> None:
        self._out = pathlib.Path(out) if out is not None else None
        self._settings = {"DELAY": "0", "DURATION": "0", "WINDOWS": "0", "MEMORY": "1" if memory else "0"}
        self._cupti = os.fspath(cupti) if cupti is not None else ""
        self._folder: "Optional[tempfile.TemporaryDirectory[str]]" = None
        self._recorder: Any = None
        self._analysis: Optional[Analysis] = None
        self.path: Optional[pathlib.Path] = None
        """The recording, once it has ended."""

    def __enter__(self) -> "Recording":
        self._recorder = _load(library("libwarpmark_inject.so"), "the recorder is not part of this installation")
        if not self._cupti:
            _load("libcuda.so.1", "there is no NVIDIA driver here, so that there is nothing to record; warpmark.analyze() "
                                  "reads profiles of other machines")
            self._cupti = _cupti_of_packages()
        self._folder = tempfile.TemporaryDirectory(prefix="warpmark-recording-")
        settings = {f"WARPMARK_RECORD_{name}": value for name, value in self._settings.items()}
        settings.update(WARPMARK_RECORD_FOLDER=self._folder.name, WARPMARK_RECORD_CUPTI=self._cupti)
        # For NVTX, which asks at its first call. It stays set: a program that asks later shall find it, too.
        os.environ.setdefault("NVTX_INJECTION64_PATH", library("libwarpmark_inject.so"))
        with _environment(settings):
            started = self._recorder.warpmark_recording_start()
        if started != 1:
            self._folder.cleanup()
            raise WarpmarkError("this program is being recorded already: recordings cannot be nested", 2)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        _synchronize()
        self._recorder.warpmark_recording_stop()
        assert self._folder is not None
        files = sorted(pathlib.Path(self._folder.name).glob("*.wmrec"))
        if files and self._out is not None:
            shutil.copyfile(files[0], self._out)
            self.path = self._out
        elif files:
            self.path = files[0]
        if not files and kind is None:
            raise WarpmarkError(f"nothing was written to {self._folder.name}: is the disk full?", 5)

    @property
    def analysis(self) -> Analysis:
        if self.path is None:
            raise WarpmarkError("the recording has not ended yet", 2)
        if self._analysis is None:
            self._analysis = analyze(self.path)
        return self._analysis

    def __repr__(self) -> str:
        return repr(self.analysis) if self.path is not None else "a recording that has not ended"

    def _repr_html_(self) -> Optional[str]:
        return self.analysis._repr_html_() if self.path is not None else None


def record(out: Optional[Path] = None, *, memory: bool = False, cupti: Optional[Path] = None) -> Recording:
    """Records kernels, copies, CUDA calls and NVTX ranges of this process in a `with` block. `out` keeps the recording, which
    `warpmark analyze` reads; `memory` records allocations; `cupti` names the library where it is not found. Raises WarpmarkError
    where there is no NVIDIA driver. To have CUPTI see all of a program, record() before its first CUDA call, or use
    `warpmark profile -- python program.py`."""
    return Recording(out, memory, cupti)


def _load(name: str, otherwise: str) -> Any:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise WarpmarkError(f"{otherwise} ({error})", 5) from error


def _cupti_of_packages() -> str:
    """Where pip's packages of CUDA put it."""
    import sysconfig

    packages = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    found = sorted(packages.glob("*/lib/libcupti.so.*"), reverse=True)
    return str(found[0]) if found else ""


def _synchronize() -> None:
    """What was enqueued in the block belongs to it, and CUPTI must not be stopped while it runs."""
    try:
        ctypes.CDLL("libcuda.so.1").cuCtxSynchronize()
    except OSError:
        pass  # a pretended CUPTI, in tests


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
