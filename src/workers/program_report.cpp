#include "workers/program_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "model/json/json_fields.h"

namespace warpmark::workers {
namespace {

constexpr std::size_t kMostSteps = 1'000'000;

void read_loader(JsonFields& fields, ProgramReport& report) {
  LoaderFacts loader;
  fields.maybe("where", loader.where);
  fields.maybe("dataset", loader.dataset);
  fields.maybe("workers", loader.workers);
  fields.maybe("batch", loader.batch);
  fields.maybe("prefetch", loader.prefetch);
  fields.maybe("pin_memory", loader.pin_memory);
  fields.maybe("persistent", loader.persistent);
  fields.maybe("batches", loader.batches);
  fields.maybe("iterable", loader.iterable);
  report.loaders.push_back(std::move(loader));
}

void read_optimizer(JsonFields& fields, ProgramReport& report) {
  OptimizerFacts optimizer;
  fields.maybe("where", optimizer.where);
  fields.maybe("name", optimizer.name);
  fields.maybe("tensors", optimizer.tensors);
  fields.maybe("parameters", optimizer.parameters);
  fields.maybe("cuda", optimizer.cuda);
  fields.maybe("fused", optimizer.fused);
  fields.maybe("foreach", optimizer.foreach);
  report.optimizers.push_back(std::move(optimizer));
}

void read_module(JsonFields& fields, ProgramReport& report) {
  ModuleFacts module;
  fields.maybe("where", module.where);
  fields.maybe("name", module.name);
  fields.maybe("dtype", module.dtype);
  fields.maybe("device", module.device);
  fields.maybe("parameters", module.parameters);
  fields.maybe("conv", module.convolutions);
  fields.maybe("linear", module.linears);
  fields.maybe("attention", module.attentions);
  fields.maybe("training", module.training);
  fields.maybe("grad", module.grad);
  fields.maybe("autocast", module.autocast);
  fields.maybe("compiled", module.compiled);
  fields.maybe("channels_last", module.channels_last);
  const auto& json = fields.json();
  if (json.contains("shapes") && json["shapes"].is_array()) {
    for (const auto& shape : json["shapes"]) module.images = module.images || (shape.is_array() && shape.size() == 4);
  }
  report.modules.push_back(std::move(module));
}

void read_torch(JsonFields& fields, ProgramReport& report) {
  fields.required("version", report.torch);
  fields.maybe("cuda", report.cuda);
  fields.maybe("threads", report.threads);
  fields.maybe("uncached", report.uncached);
  fields.maybe("cpus", report.cpus);
  fields.maybe("world", report.world);
  fields.maybe("node_cpus", report.node_cpus);
  fields.maybe("gpu_node", report.gpu_node);
  fields.maybe("allowed_cpus", report.allowed_cpus);
  fields.maybe("allocators", report.allocators);
  fields.maybe("taskset", report.has_taskset);
  fields.each("devices", [&](JsonFields& device) {
    GpuFacts gpu;
    device.maybe("name", gpu.name);
    device.maybe("memory", gpu.memory_bytes);
    device.maybe("major", gpu.major);
    report.gpus.push_back(std::move(gpu));
  });
}

/// Numbers, NaN for null.
std::vector<double> read_values(const Json& json) {
  std::vector<double> values;
  if (!json.is_array()) return values;
  for (const auto& value : json) {
    values.push_back(value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

void read_steps(JsonFields& fields, ProgramReport& report) {
  const auto& json = fields.json();
  if (!json.contains("rows") || !json["rows"].is_array()) return fields.fail("rows", "is missing");
  for (const auto& row : json["rows"]) {
    const auto values = read_values(row);
    if (values.size() != 7 || report.steps.size() >= kMostSteps)
      return fields.fail("rows", "has a row that is no step");
    const auto count = [&](std::size_t i) {
      return values[i] >= 0 && values[i] < 1e15 ? static_cast<std::int64_t>(values[i]) : 0;
    };
    report.steps.push_back({.end_s = values[0],
                            .wait_s = values[1],
                            .forward_s = values[2],
                            .backward_s = values[3],
                            .optimizer_s = values[4],
                            .samples = count(5),
                            .backwards = count(6)});
  }
}

void read_knob(JsonFields& fields, ProgramReport& report) {
  KnobState knob;
  fields.required("id", knob.id);
  fields.maybe("value", knob.value);
  fields.maybe("in_force", knob.in_force);
  fields.maybe("places", knob.places);
  fields.maybe("said", knob.said);
  report.knobs.push_back(std::move(knob));
}

void read_acts(JsonFields& fields, ProgramReport& report) {
  KnobPlaces acts;
  fields.required("knob", acts.knob);
  fields.required("places", acts.places);
  report.acts.push_back(std::move(acts));
}

void read_read(JsonFields& fields, ProgramReport& report) {
  ReadFacts read;
  fields.maybe("where", read.where);
  fields.maybe("call", read.call);
  fields.maybe("count", read.count);
  fields.maybe("seconds", read.seconds);
  report.reads.push_back(std::move(read));
}

void read_window(JsonFields& fields, ProgramReport& report) {
  Window window;
  fields.required("steps", window.steps);
  fields.required("seconds", window.seconds);
  fields.maybe("samples", window.samples);
  fields.maybe("before", window.before_s);
  fields.maybe("began", window.began_s);
  fields.maybe("left_out", window.left_out);
  if (window.steps < 1 || !(window.seconds > 0)) return fields.fail("seconds", "is no time of steps");
  report.window = window;
}

void read_memory(JsonFields& fields, ProgramReport& report) {
  fields.maybe("allocated", report.allocated_bytes);
  fields.maybe("reserved", report.reserved_bytes);
  fields.maybe("total", report.total_bytes);
  fields.maybe("emptied", report.emptied);
}

void read_debugging(JsonFields& fields, ProgramReport& report) { fields.maybe("knobs", report.debugging); }

void read_end(JsonFields& fields, ProgramReport& report) {
  fields.maybe("why", report.ended);
  fields.maybe("marker", report.marker);
  fields.maybe("benchmarks", report.benchmarks);
}

void read_hello(JsonFields& fields, ProgramReport& report) {
  fields.maybe("pid", report.pid);
  fields.maybe("rank", report.rank);
  fields.maybe("python", report.python);
}

/// What was told of steps before it does not count.
void read_restart(JsonFields&, ProgramReport& report) {
  report.steps.clear();
  report.outputs.clear();
}

void read_loss(JsonFields& fields, ProgramReport& report) {
  if (fields.json().contains("values")) report.losses = read_values(fields.json()["values"]);
}

void read_outputs(JsonFields& fields, ProgramReport& report) {
  fields.maybe("half", report.half_outputs);
  if (!fields.json().contains("values") || !fields.json()["values"].is_array()) return;
  for (const auto& output : fields.json()["values"]) report.outputs.push_back(read_values(output));
}

/// Its waits follow, all so far.
void read_host(JsonFields& fields, ProgramReport& report) {
  fields.maybe("seconds", report.host_s);
  report.host_waits.clear();
}

void read_wait(JsonFields& fields, ProgramReport& report) {
  auto& wait = report.host_waits.emplace_back();
  fields.maybe("file", wait.file);
  fields.maybe("line", wait.line);
  fields.maybe("function", wait.function);
  fields.maybe("what", wait.kind);
  fields.maybe("seconds", wait.seconds);
}

void read_fault(JsonFields& fields, ProgramReport& report) {
  std::string where, what;
  fields.maybe("where", where);
  fields.maybe("what", what);
  report.faults.push_back(where + ": " + what);
}

/// What the hook tells, by the "k" of its line.
struct LineKind {
  std::string_view name;
  void (*read)(JsonFields& fields, ProgramReport& report);
};
constexpr LineKind kLineKinds[] = {
    {"hello", read_hello},
    {"torch", read_torch},
    {"patched", [](JsonFields& fields, ProgramReport& report) { fields.maybe("names", report.patched); }},
    {"loader", read_loader},
    {"optimizer", read_optimizer},
    {"module", read_module},
    {"steps", read_steps},
    {"restart", read_restart},
    {"world", [](JsonFields& fields, ProgramReport& report) { fields.maybe("world", report.world); }},
    {"loss", read_loss},
    {"outputs", read_outputs},
    {"attention", [](JsonFields& fields, ProgramReport& report) { fields.maybe("off", report.attention_off); }},
    {"knob", read_knob},
    {"acts", read_acts},
    {"read", read_read},
    {"host", read_host},
    {"wait", read_wait},
    {"fault", read_fault},
    {"window", read_window},
    {"memory", read_memory},
    {"debugging", read_debugging},
    {"end", read_end},
};

/// Lines of other kinds are passed over.
void read_line(JsonFields& fields, ProgramReport& report) {
  std::string kind;
  fields.required("k", kind);
  for (const auto& known : kLineKinds) {
    if (known.name == kind) return known.read(fields, report);
  }
}

namespace fs = std::filesystem;

constexpr std::int64_t kLargestFile = 4 << 20;

/// Files of /proc tell no size.
std::string text_of(const fs::path& file) {
  const auto text = read_file(file, kLargestFile);
  return text.ok() ? *text : std::string();
}

long parent_of(long pid) {
  const auto stat = text_of(fmt::format("/proc/{}/stat", pid));
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  const auto fields = split(stat.substr(name_end + 1), ' ');
  long parent = 0;
  if (fields.size() > 2) std::from_chars(fields[2].data(), fields[2].data() + fields[2].size(), parent);
  return parent;
}

bool is_descendant(long pid) {
  for (int level = 0; level < 64 && pid > 1; ++level) {
    pid = parent_of(pid);
    if (pid == ::getpid()) return true;
  }
  return false;
}

bool is_python(long pid) {
  std::error_code failure;
  const auto target = fs::read_symlink(fmt::format("/proc/{}/exe", pid), failure);
  return !failure && target.filename().string().starts_with("python");
}

std::string reason_of(long pid, const std::string& hook_folder) {
  const auto words = split(text_of(fmt::format("/proc/{}/cmdline", pid)), '\0');
  for (std::size_t i = 1; i < words.size() && words[i].starts_with('-') && !words[i].starts_with("--"); ++i) {
    for (const char flag : {'I', 'E', 'S'}) {
      if (words[i].find(flag) == std::string::npos || words[i] == "-c" || words[i] == "-m") continue;
      return fmt::format("python -{} ignores {}", flag, flag == 'S' ? "sitecustomize" : "PYTHONPATH");
    }
    if (words[i] == "-c" || words[i] == "-m") break;
  }
  std::string path;
  bool has_plan = false, has_path = false;
  for (const auto& variable : split(text_of(fmt::format("/proc/{}/environ", pid)), '\0')) {
    if (variable.starts_with("WARPMARK_HOOK=")) has_plan = true;
    if (variable.starts_with("PYTHONPATH=")) path = variable.substr(11), has_path = true;
  }
  if (!has_plan) return "the command clears the environment (env -i, sudo, a container or a remote host)";
  if (!has_path) return "the command removes PYTHONPATH";
  if (path.find(hook_folder) == std::string::npos) return "the command replaces PYTHONPATH by " + path;
  return {};
}

}  // namespace

Result<ProgramReport> parse_report(std::string_view text, std::string_view name) {
  ProgramReport report;
  const auto whole = text.rfind('\n');
  std::int64_t number = 0;
  for (const auto& line : split(text.substr(0, whole == std::string_view::npos ? 0 : whole), '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const auto place = fmt::format("{} line {}", name, number);
    WM_ASSIGN(const auto json, parse_json(line, place));
    if (!json.is_object()) return data_error(place + " is no JSON object");
    std::optional<Error> error;
    JsonFields fields(json, "", error);
    std::int64_t version = kHookVersion;
    fields.maybe("v", version);
    if (version != kHookVersion) {
      return data_error(
          fmt::format("{} has version {} of the report, this warpmark reads {}", place, version, kHookVersion),
          "remove an older hook from PYTHONPATH");
    }
    read_line(fields, report);
    if (error) return data_error(place + ": " + error->what);
  }
  return report;
}

std::vector<const ProgramReport*> main_processes(const std::vector<ProgramReport>& reports) {
  std::vector<const ProgramReport*> found;
  for (const auto& report : reports) {
    if (!report.steps.empty()) found.push_back(&report);
  }
  for (const auto& report : reports) {
    if (found.empty() && !report.torch.empty()) found.push_back(&report);
  }
  if (found.empty() && !reports.empty()) found.push_back(&reports.front());
  std::stable_sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->rank < b->rank; });
  return found;
}

std::string why_unheard(const std::string& hook_folder) {
  std::error_code failure;
  for (fs::directory_iterator entry("/proc", failure), end; !failure && entry != end; entry.increment(failure)) {
    const auto name = entry->path().filename().string();
    long pid = 0;
    const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || last != name.data() + name.size()) continue;
    if (!is_python(pid) || !is_descendant(pid)) continue;
    if (auto reason = reason_of(pid, hook_folder); !reason.empty()) return reason;
  }
  return {};
}

}  // namespace warpmark::workers
