"""The installed product, in a folder of its own: the library for other programs. Usage: install_test.py BUILD"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from run_program import run  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if __name__ == "__main__" else pathlib.Path()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
TRACE = SOURCE / "examples/traces/resnet18_slow_loading.pt.trace.json.gz"
STANDARD = re.compile(r"#include <([a-z_]+|sys/[a-z]+\.h|std[a-z]+\.h)>")


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="warpmark install ")
        cls.path = pathlib.Path(cls.folder.name)
        cls.prefix = cls.path / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.environment = {"PATH": os.environ["PATH"], "HOME": str(cls.path), "LC_ALL": "C.UTF-8"}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_executable_runs_from_where_it_lies(self):
        moved = self.path / "moved"
        shutil.copytree(self.prefix, moved, symlinks=True)
        self.assertIn("warpmark", run(moved / "bin/warpmark", "--version", env=self.environment))
        self.assertIn("data", run(moved / "bin/warpmark", "analyze", TRACE, env=self.environment))

    def test_headers_name_only_themselves_and_the_standard_library(self):
        headers = sorted((self.prefix / "include/warpmark").glob("*.hpp"))
        self.assertGreater(len(headers), 5)
        for header in headers:
            for line in header.read_text().splitlines():
                if line.startswith("#include") and not STANDARD.match(line):
                    self.assertRegex(line, r"^#include <warpmark/[a-z]+\.hpp>$", header)

    def test_each_header_compiles_alone(self):
        compiler = os.environ.get("CXX", "c++")
        for header in (self.prefix / "include/warpmark").glob("*.h*"):
            source = self.path / "alone.cpp"
            source.write_text(f"#include <warpmark/{header.name}>\n#include <warpmark/{header.name}>\n")
            run(compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", self.prefix / "include", source)

    def test_the_library_shows_only_its_interface(self):
        symbols = run("nm", "--dynamic", "--defined-only", "--demangle", self.prefix / "lib/libwarpmark.so").splitlines()
        names = [line.split(" ", 2)[2] for line in symbols]
        self.assertGreater(len(names), 10)
        foreign = [name for name in names if "warpmark::v0::" not in name]
        self.assertEqual(foreign, [])
        links = run("readelf", "--dynamic", self.prefix / "lib/libwarpmark.so")
        self.assertRegex(links, r"SONAME.*libwarpmark\.so\.\d+\.\d+\]")
        self.assertNotRegex(links, "NEEDED.*(cuda|nvidia|openblas|dnnl)")

    def test_the_example_builds_against_it_and_runs(self):
        build = self.path / "example"
        run("cmake", "-G", "Ninja", "-S", SOURCE / "examples/library", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        run("cmake", "--build", build)
        results = self.path / "results.json"
        said = run(build / "tour", results, TRACE, env=self.environment)
        self.assertIn("sort on cpu: ", said)
        self.assertRegex(said, r"nth_element against sort: (better|same|worse): [0-9.]+x as fast \[[0-9.]+x, [0-9.]+x\]")
        self.assertIn("2 results in", said)
        self.assertIn("data_loading", said)
        self.assertIn("looks", said)
        runs = json.loads(results.read_text())["runs"]
        self.assertEqual([each["workload"] for each in runs], ["callable"] * 2)
        shown = run(self.prefix / "bin/warpmark", "report", results, env=self.environment)
        self.assertIn("nth_element", shown)


if __name__ == "__main__":
    unittest.main()
