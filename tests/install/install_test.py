"""The installed product, in a folder of its own: the library for other programs. Usage: install_test.py BUILD"""

import gzip
import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from run_program import run  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if __name__ == "__main__" else pathlib.Path()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
TRACE = SOURCE / "examples/traces/resnet18_slow_loading.pt.trace.json.gz"
LIBRARY = "lib/libwarpmark/libwarpmark.so"
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

    def test_no_file_is_searched_in_folders_of_the_machine_that_built_it(self):
        files = [path for path in self.prefix.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreater(len(files), 1)
        for path in files:
            searched = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "--dynamic", path))
            foreign = [folder for folder in ":".join(searched).split(":") if folder and not folder.startswith("$ORIGIN")]
            self.assertEqual(foreign, [], path)

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
        symbols = run("nm", "--dynamic", "--defined-only", "--demangle", self.prefix / LIBRARY).splitlines()
        names = [line.split(" ", 2)[2] for line in symbols]
        self.assertGreater(len(names), 10)
        foreign = [name for name in names if "warpmark::v0::" not in name]
        self.assertEqual(foreign, [])
        links = run("readelf", "--dynamic", self.prefix / LIBRARY)
        self.assertRegex(links, r"SONAME.*libwarpmark\.so\.\d+\.\d+\]")
        self.assertEqual(sorted(re.findall(r"NEEDED.*\[(lib[a-z_+-]+)", links)),
                         ["libc", "libgcc_s", "libgomp", "libm", "libstdc++"])
        self.assertNotRegex(links, "R(UN)?PATH.*/usr")
        self.assertNotRegex(links, "TEXTREL")
        self.assertEqual(sorted(path.name for path in (self.prefix / LIBRARY).parent.iterdir() if "warpmark" not in path.name),
                         [], "a folder of its own")

    def test_programs_that_were_linked_with_it_find_all_their_symbols(self):
        """A name that goes or changes breaks programs that are not compiled again: then the minor version grows, too."""
        symbols = run("nm", "--dynamic", "--defined-only", "--demangle", self.prefix / LIBRARY).splitlines()
        # Weak ones are of the headers: programs have their own.
        names = "".join(sorted(line.split(" ", 2)[2] + "\n" for line in symbols if line.split(" ", 2)[1] == "T"))
        self.compare_with("symbols.txt", names)

    def compare_with(self, golden, text):
        path = pathlib.Path(__file__).parent / golden
        if os.environ.get("WARPMARK_UPDATE"):
            path.write_text(text)
        self.assertEqual(text, path.read_text(), "refresh it with WARPMARK_UPDATE=1 after a wanted change")

    def test_programs_that_were_compiled_with_its_headers_find_each_field_in_its_place(self):
        """As above: the size of each structure, the place, size and kind of its fields, and the values of words."""
        lines, structures = [], 0
        for header in sorted((self.prefix / "include/warpmark").glob("*.hpp")):
            text = re.sub("//.*", "", header.read_text())
            for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.MULTILINE | re.DOTALL):
                structures += 1
                lines.append(f"SIZE({name})")
                for field in body.split(";"):
                    place = re.search(r"\(\*(\w+)\)", field) or re.search(r"(\w+)\s*(=.*|\{.*\})?$", field.strip(), re.DOTALL)
                    if place:
                        lines.append(f"FIELD({name}, {place[1]})")
            lines += [f"SIZE({result})" for result in sorted(set(re.findall(r"\bResult<[a-zA-Z:]{2,}(?:<\w+>)?>", text)))]
            for name, body in re.findall(r"^enum class (\w+) \{(.*?)\};", text, re.MULTILINE | re.DOTALL):
                lines += [f"WORD({name}, {word})" for word in re.findall(r"\w+", body)]
        self.assertGreater(structures, 10)
        source, program = self.path / "layout.cpp", self.path / "layout"
        source.write_text(r"""
#include <warpmark/warpmark.hpp>
#include <cstddef>
#include <cstdio>
using namespace warpmark::v0;
template <typename T>
constexpr const char* kind = std::is_same_v<T, bool>         ? "truth value"
                             : std::is_floating_point_v<T>   ? "floating-point number"
                             : std::is_unsigned_v<T>         ? "unsigned number"
                             : std::is_integral_v<T>         ? "whole number"
                             : std::is_pointer_v<T>          ? "pointer"
                             : std::is_enum_v<T>             ? "word"
                             : std::is_same_v<T, std::string> ? "text"
                                                             : "object";
#define SIZE(type) std::printf("%s: %zu bytes\n", #type, sizeof(type));
#define FIELD(type, field) std::printf("%s.%s: at %zu, %zu bytes, %s\n", #type, #field, offsetof(type, field), \
                                       sizeof(type::field), kind<decltype(type::field)>);
#define WORD(type, word) std::printf("%s::%s: %d\n", #type, #word, static_cast<int>(type::word));
int main() {
  SIZE(Watch)
""" + "\n".join(lines) + "\n}\n")
        run(os.environ.get("CXX", "c++"), "-std=c++20", "-Wno-invalid-offsetof", "-o", program, source, "-I", self.prefix / "include")
        self.compare_with("layout.txt", run(program))

    def test_a_program_with_other_versions_of_its_libraries_keeps_its_own_and_the_library_does(self):
        """The program links others of the same names, with the same functions, which all end the program."""
        source, program, others = self.path / "other.cpp", self.path / "other", self.path / "others"
        source.write_text(r"""
#include <warpmark/warpmark.hpp>
#include <cstdio>
extern "C" const char* other_library();
int main(int, char** words) {
  const auto measured = warpmark::measure([] { return 1; }, {.budget_s = 0.01});
  const auto written = warpmark::write_results(words[2], std::span(&*measured, 1));
  const auto read = warpmark::read_results(words[2]);
  warpmark::Watch watch;
  const auto found = warpmark::analyze(words[1]);
  std::printf("%s %s\n", other_library(), found.ok() && written.ok() && read.ok() ? "analyzed" : "failed");
}
""")
        others.mkdir()
        for name in ("isal", "fmt", "xlsxwriter", "sqlite3", "zstd", "z", "crypto", "yaml-cpp", "re2"):
            self.make_other_library(name, others)
        flags = run("pkg-config", "--cflags", "--libs", "warpmark",
                    env={**self.environment, "PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")})
        # The folder of this test has a blank in its name, which pkg-config writes as a shell takes it.
        run(os.environ.get("CXX", "c++"), "-std=c++20", "-rdynamic", "-o", program, source, "-Wl,--no-as-needed",
            *sorted(others.iterdir()), f"-Wl,-rpath,{others}", *shlex.split(flags))
        for trace in (TRACE, self.compressed_by_zstd()):
            self.assertEqual(run(program, trace, self.path / "other.json", env=self.environment), "other analyzed\n")

    def make_other_library(self, name, folder):
        compiler = os.environ.get("CXX", "c++")
        real = pathlib.Path(run(compiler, f"-print-file-name=lib{name}.so").strip())
        if not real.is_absolute():
            return
        soname = re.search(r"SONAME.*\[(.+)\]", run("readelf", "--dynamic", real))[1]
        symbols = {line.split()[-1].partition("@")[0]
                   for line in run("nm", "--dynamic", "--defined-only", real).splitlines() if line.split()[-2] != "A"}
        source = self.path / "other.s"
        source.write_text(".text\n" + "".join(f".globl {each}\n.type {each}, @function\n{each}:\n" for each in sorted(symbols)) +
                          "call abort@PLT\n" + (".section .note.GNU-stack\n"))
        own = self.path / "own.c"
        own.write_text('const char* other_library() { return "other"; }\n')
        run(compiler, "-x", "assembler", source, "-x", "c", own, "-shared", "-fPIC", "-o", folder / soname, f"-Wl,-soname,{soname}")

    def compressed_by_zstd(self):
        plain, packed = self.path / "trace.json", self.path / "trace.json.zst"
        plain.write_bytes(gzip.decompress(TRACE.read_bytes()))
        run("zstd", "--quiet", "--force", plain, "-o", packed)
        return packed

    def test_options_that_make_no_sense_are_errors_and_never_end_the_program(self):
        source, program = self.path / "odd.cpp", self.path / "odd"
        source.write_text(r"""
#include <warpmark/warpmark.hpp>
#include <cstdio>
#include <limits>
int main() {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto tried = [](const warpmark::MeasureOptions& options) {
    const auto measured = warpmark::measure([] { return 1; }, options);
    std::printf("%s\n", measured.ok() ? "ok" : measured.error().what.c_str());
  };
  for (const double odd : {inf, nan, 1e308, -1.0}) {
    tried({.budget_s = 0.01, .bytes = odd});
    tried({.budget_s = 0.01, .flops = odd});
  }
  for (const double odd : {inf, nan, -1.0}) {
    tried({.budget_s = odd});
    tried({.budget_s = 0.01, .precision = odd});
    tried({.budget_s = 0.01, .warmup_s = odd});
  }
  for (const double odd : {0.0, nan, -1.0}) {
    warpmark::Watch watch({.interval_s = odd});
    std::printf("%s\n", watch.stop().polls > 0 ? "watched" : "no sample");
  }
  const double a[] = {1e-320, 2e-320, 3e-320}, b[] = {1e308, 1e308, 1.1e308};
  const auto compared = warpmark::compare(a, b);
  std::printf("%s\n", compared.ok() ? to_text(*compared).c_str() : compared.error().what.c_str());
}
""")
        for flags in ([], ["-fno-exceptions"]):
            run(os.environ.get("CXX", "c++"), "-std=c++20", *flags, "-o", program, source, "-I", self.prefix / "include",
                self.prefix / LIBRARY, f"-Wl,-rpath,{(self.prefix / LIBRARY).parent}")
            said = run(program, env=self.environment).splitlines()
            self.assertEqual([line for line in said[:17] if "must be" not in line], [])
            self.assertEqual(said[17:20], ["watched"] * 3)
            self.assertNotIn("--", "".join(said), "no options of the command line")

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
        self.assertIn("samples", said)
        runs = json.loads(results.read_text())["runs"]
        self.assertEqual([each["workload"] for each in runs], ["callable"] * 2)
        shown = run(self.prefix / "bin/warpmark", "report", results, env=self.environment)
        self.assertIn("nth_element", shown)


if __name__ == "__main__":
    unittest.main()
