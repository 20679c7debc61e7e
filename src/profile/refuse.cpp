// What files that are no profile look like. Magic numbers: file(1)'s database; first lines of Git LFS pointers:
// git-lfs/docs/spec.md. XSpace: xplane.proto of github.com/openxla/xla.
#include <algorithm>
#include <initializer_list>

#include "profile/read_session.h"

#include "base/text.h"
#include "profile/readers/text/decimal.h"

namespace warpmark::profile {
namespace {

struct Poll {
  std::string_view begin;
  const char* what;
  const char* hint;
};

constexpr const char* kUnpack = "unpack it first";
constexpr const char* kExportNsys =
    "export it: nsys export --type sqlite --force-overwrite true -o profile.sqlite FILE, then read profile.sqlite";

constexpr Poll kInspected[] = {
    {"\xFF\xFE", "text in UTF-16, as Windows' shells write", "turn it into UTF-8: iconv -f UTF-16 -t UTF-8 FILE"},
    {"\x1F\x8B", "a gzip file within a packed file", kUnpack},
    {"\x28\xB5\x2F\xFD", "a zstandard file within a packed file", kUnpack},
    {"PK\x03\x04", "a zip archive", kUnpack},
    {"7z\xBC\xAF", "a 7z archive", kUnpack},
    {"\xFD\x37zXZ", "an xz archive", "unpack it first: xz -d FILE"},
    {"BZh", "a bzip2 archive", "unpack it first: bzip2 -d FILE"},
    {"\x04\x22\x4D\x18", "an lz4 archive", "unpack it first: lz4 -d FILE"},
    {"\x7F"
     "ELF",
     "a program", "record it first: warpmark profile -- FILE"},
    {"version https://git-lfs.github.com/spec", "a Git LFS pointer: the file itself was not downloaded",
     "run: git lfs pull"},
    {"#!", "a script", "record it first: warpmark profile -- FILE"},
    {"NVR", "an Nsight Compute report",
     "export it: ncu --import FILE --page raw --csv --print-units base > kernels.csv"},
    {"NSYS", "an Nsight Systems report", kExportNsys},
    {"QDSTRM", "a raw recording of Nsight Systems",
     "import it with QdstrmImporter, then export: nsys export --type sqlite"},
    {"\x89PNG", "a picture", "is it the right file?"},
    {"%PDF", "a PDF document", "is it the right file?"},
    {"PAR1", "a Parquet table", "export the profile as SQLite: nsys export --type sqlite"},
    {"ARROW1", "an Arrow table", "export the profile as SQLite: nsys export --type sqlite"},
};

/// XLA's protocol buffer XSpace: its first field is a plane, which begins with its number and its name.
bool is_xplane(std::string_view head) {
  const std::string_view begin = head.substr(0, 64);
  return begin.starts_with('\n') &&
         (begin.find("/device:") != std::string_view::npos || begin.find("/host:") != std::string_view::npos);
}

/// Protocols 2 to 5, which begin with their number (Python's Lib/pickletools.py).
bool is_pickle(std::string_view head) { return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5; }

bool is_binary(std::string_view head) {
  return std::any_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\x1B';
  });
}

bool has(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::ranges::all_of(all, [text](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// Lines of logs, too, begin with '[': "[04-03-2021 @ 13:32:39]", "[INFO] started".
bool is_json(std::string_view begin) {
  if (!begin.starts_with('{') && !begin.starts_with('[')) return false;
  const auto next = begin.find_first_not_of(" \t\r\n", 1);
  if (next == std::string_view::npos) return true;
  if (begin[0] == '{') return begin[next] == '"' || begin[next] == '}';
  if (std::string_view("{[\"]").find(begin[next]) != std::string_view::npos) return true;
  const auto end = begin.find_first_of(",] \t\r\n", next);  // of a number or a word, the first of several
  const std::string_view word = begin.substr(next, end - next);
  const bool is_value = parse_number(word) || word == "null" || word == "true" || word == "false";
  const auto after = end == std::string_view::npos ? end : begin.find_first_not_of(" \t\r\n", end);
  return is_value && (after == std::string_view::npos || begin[after] == ',');
}

}  // namespace

Refusal inspect(std::string_view head) {
  if (head.empty()) return {"an empty file", "was the profiler stopped before it wrote?"};
  for (const Poll& probe : kInspected) {
    if (head.starts_with(probe.begin)) return {probe.what, probe.hint};
  }
  if (is_pickle(head)) {
    return {
        "a Python pickle, such as a memory snapshot of PyTorch (_dump_snapshot)",
        "show a snapshot at https://pytorch.org/memory_viz; for a timeline of memory that can be read here, export a "
        "trace of torch.profiler with profile_memory=True"};
  }
  if (head.size() > 262 && head.substr(257, 5) == "ustar") return {"a tar archive", "unpack it first: tar -xf FILE"};
  const auto first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {"a file of blanks", "was the profiler stopped before it wrote?"};
  const std::string begin = ascii_lower(head.substr(first, 512));
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html")) {
    return {"a web page", "download the file itself: the page that shows it was saved (choose 'raw')"};
  }
  if (begin.starts_with("<")) return {"XML", "is it the right file?"};
  // .nsys-rep files have no magic number that is documented; the word is within their first bytes.
  if (is_binary(head) && head.substr(0, 4096).find("QuadD") != std::string_view::npos) {
    return {"an Nsight Systems report", kExportNsys};
  }
  if (is_binary(head) && is_xplane(head)) {
    return {"an XPlane of XLA's profiler (.xplane.pb)", "read the .trace.json.gz next to it"};
  }
  if (is_binary(head)) return {"binary data of an unknown format", "'warpmark analyze --help' lists the formats"};
  if (!is_json(begin)) {
    if (has(begin, {"calls", "totaldurationns"})) {
      return {"sums of rocprof, without the times of single calls",
              "read the *_kernel_trace.csv of the same run, or record it: rocprofv3 --kernel-trace --hip-trace "
              "--output-format csv -- <command>"};
    }
    if (has(begin, {"counter_name", "counter_value"})) {
      return {"hardware counters of rocprofv3, without a timeline",
              "record the times of kernels: rocprofv3 --kernel-trace --hip-trace --output-format csv -- <command>"};
    }
    if (has(begin, {"utilization", "temp"}) || has(begin, {"utilization", "memory"})) {
      return {
          "a log of GPU counters in a format of its own",
          "log them with: nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used,memory.total,power.draw,"
          "temperature.gpu --format=csv -l 1"};
    }
    return {"text of an unknown format", "'warpmark analyze --help' lists the formats"};
  }
  if (has(begin, {"speedscope.app/file-format-schema"}) || has(begin, {"\"shared\"", "\"frames\""})) {
    return {"a speedscope profile: stacks of CPU threads without GPU work",
            "show it at https://www.speedscope.app; record the GPU work: warpmark profile -- <command>"};
  }
  if (has(begin, {"\"timestamps\"", "\"ns\""})) {
    return {
        "a request trace of NVIDIA's Triton server: times of requests without GPU work",
        "sum it up with Triton's trace_summary.py; record the GPU work of the server: warpmark profile -- <command>"};
  }
  // PyTorch's ExecutionTraceObserver and Chakra's converter (chakra_schema, mlcommons/chakra).
  if (begin.starts_with("{") && (has(begin, {"\"nodes\""}) || has(begin, {"\"workload_graph\""}))) {
    return {"a Chakra or PyTorch execution trace: operators without times of the GPU",
            "read the profiler's trace of the same run (Kineto, *.pt.trace.json)"};
  }
  return {"JSON without a list of trace events", "export the trace with export_chrome_trace()"};
}

}  // namespace warpmark::profile
