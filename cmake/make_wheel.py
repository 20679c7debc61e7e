"""make_wheel.py DIST_FOLDER VERSION OUT [LEVEL]: the relocatable build of ./dev dist and the package python/warpmark as a wheel.

By the binary distribution format (packaging.python.org/specifications/binary-distribution-format): a zip file whose .dist-info has
METADATA, WHEEL, entry points and RECORD, a line with hash and size for each file. Times and order are fixed, so that the same
build gives the same wheel. Nothing is uploaded."""

import base64
import csv
import hashlib
import io
import pathlib
import platform
import struct
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What ./dev dist promises: no symbol of a newer C library (make_dist.sh).
GLIBC = "2_34"
# Of the C++ library and for shells; a wheel puts nothing there.
LEFT_OUT = ("include/", "lib/cmake/", "lib/libwarpmark/", "lib/pkgconfig/", "share/bash-completion/", "share/zsh/", "share/fish/", "share/man/",
            "share/doc/warpmark/docs/images/")
TIME = (1980, 1, 1, 0, 0, 0)


def metadata(version):
    summary = "Measures a machine and GPU programs, says what they lose and what fixing gains"
    return f"""Metadata-Version: 2.1
Name: warpmark
Version: {version}
Summary: {summary}
License: Apache-2.0
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{(ROOT / "docs/python.md").read_text(encoding="utf-8")}"""


def processor_of(program):
    """By the machine that its ELF header names: not that of this one, where it was cross-compiled."""
    with open(program, "rb") as file:
        (machine,) = struct.unpack_from("<H", file.read(20), 18)
    return {62: "x86_64", 183: "aarch64"}.get(machine, platform.machine())


class Wheel:
    def __init__(self, version, processor, out, level):
        self.info = f"warpmark-{version}.dist-info"
        self.tag = f"py3-none-manylinux_{GLIBC}_{processor}"
        self.path = out / f"warpmark-{version}-{self.tag}.whl"
        self.zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED, compresslevel=level)
        self.record = []

    def add(self, name, data, executable=False):
        entry = zipfile.ZipInfo(name, TIME)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append((name, f"sha256={digest}", len(data)))

    def add_folder(self, folder, prefix, left_out=()):
        for file in sorted(folder.rglob("*")):
            name = file.relative_to(folder).as_posix()
            if file.is_dir() or "__pycache__" in name or name.startswith(left_out):
                continue
            self.add(prefix + name, file.read_bytes(), executable=bool(file.stat().st_mode & 0o100))

    def close(self):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*self.record, (f"{self.info}/RECORD", "", "")])
        entry = zipfile.ZipInfo(f"{self.info}/RECORD", TIME)
        entry.external_attr = 0o100644 << 16
        self.zip.writestr(entry, text.getvalue())
        self.zip.close()


def main():
    dist, version, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    wheel = Wheel(version, processor_of(dist / "bin/warpmark"), out, int(sys.argv[4]) if len(sys.argv) > 4 else 9)
    wheel.add_folder(ROOT / "python/warpmark", "warpmark/")
    wheel.add_folder(dist, "warpmark/_program/", LEFT_OUT)
    wheel.add(f"{wheel.info}/METADATA", metadata(version).encode())
    wheel.add(f"{wheel.info}/WHEEL", (f"Wheel-Version: 1.0\nGenerator: warpmark {version}\nRoot-Is-Purelib: false\n"
                                      f"Tag: {wheel.tag}\n").encode())
    wheel.add(f"{wheel.info}/entry_points.txt", b"[console_scripts]\nwarpmark = warpmark._program:main\n\n"
              b"[pytest11]\nwarpmark = warpmark._pytest\n")
    wheel.add(f"{wheel.info}/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.close()
    print(wheel.path)


main()
