#include "workers/program_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "model/fields/forms.h"

namespace warpmark::workers {
namespace {

constexpr std::size_t kMostSteps = 1'000'000;

/// Absent where the hook does not know it.
template <auto kMember>
constexpr Field maybe(const char* key) {
  return field<kMember>(key).added_later();
}

constexpr Form kHasImages{nullptr,
                          [](const Json& shapes, void* images) -> const char* {
                            *static_cast<bool*>(images) =
                                std::any_of(shapes.begin(), shapes.end(),
                                            [](const Json& one) { return one.is_array() && one.size() == 4; });
                            return nullptr;
                          },
                          nullptr};

constexpr Field kLoaderFields[] = {
    maybe<&LoaderFacts::where>("where"),           maybe<&LoaderFacts::dataset>("dataset"),
    maybe<&LoaderFacts::workers>("workers"),       maybe<&LoaderFacts::batch>("batch"),
    maybe<&LoaderFacts::prefetch>("prefetch"),     maybe<&LoaderFacts::pin_memory>("pin_memory"),
    maybe<&LoaderFacts::persistent>("persistent"), maybe<&LoaderFacts::batches>("batches"),
    maybe<&LoaderFacts::iterable>("iterable")};
constexpr RecordOf<LoaderFacts> kLoader{"loader", "", kLoaderFields};

constexpr Field kOptimizerFields[] = {
    maybe<&OptimizerFacts::where>("where"),     maybe<&OptimizerFacts::name>("name"),
    maybe<&OptimizerFacts::tensors>("tensors"), maybe<&OptimizerFacts::parameters>("parameters"),
    maybe<&OptimizerFacts::cuda>("cuda"),       maybe<&OptimizerFacts::fused>("fused"),
    maybe<&OptimizerFacts::foreach>("foreach")};
constexpr RecordOf<OptimizerFacts> kOptimizer{"optimizer", "", kOptimizerFields};

constexpr Field kModuleFields[] = {maybe<&ModuleFacts::where>("where"),
                                   maybe<&ModuleFacts::name>("name"),
                                   maybe<&ModuleFacts::dtype>("dtype"),
                                   maybe<&ModuleFacts::device>("device"),
                                   maybe<&ModuleFacts::parameters>("parameters"),
                                   maybe<&ModuleFacts::convolutions>("conv"),
                                   maybe<&ModuleFacts::linears>("linear"),
                                   maybe<&ModuleFacts::attentions>("attention"),
                                   maybe<&ModuleFacts::training>("training"),
                                   maybe<&ModuleFacts::grad>("grad"),
                                   maybe<&ModuleFacts::autocast>("autocast"),
                                   maybe<&ModuleFacts::compiled>("compiled"),
                                   maybe<&ModuleFacts::channels_last>("channels_last"),
                                   maybe<&ModuleFacts::images>("shapes").formed(kHasImages)};
constexpr RecordOf<ModuleFacts> kModule{"module", "", kModuleFields};

constexpr Field kGpuFields[] = {maybe<&GpuFacts::name>("name"), maybe<&GpuFacts::memory_bytes>("memory"),
                                maybe<&GpuFacts::major>("major")};
constexpr RecordOf<GpuFacts> kGpu{"gpu", "", kGpuFields};

constexpr Field kKnobFields[] = {field<&KnobState::id>("id"), maybe<&KnobState::value>("value"),
                                 maybe<&KnobState::in_force>("in_force"), maybe<&KnobState::places>("places"),
                                 maybe<&KnobState::said>("said")};
constexpr RecordOf<KnobState> kKnob{"knob", "", kKnobFields};

constexpr Field kActsFields[] = {field<&KnobPlaces::knob>("knob"), field<&KnobPlaces::places>("places")};
constexpr RecordOf<KnobPlaces> kActs{"acts", "", kActsFields};

constexpr Field kReadFields[] = {maybe<&ReadFacts::where>("where"), maybe<&ReadFacts::call>("call"),
                                 maybe<&ReadFacts::count>("count"), maybe<&ReadFacts::seconds>("seconds")};
constexpr RecordOf<ReadFacts> kRead{"read", "", kReadFields};

constexpr Field kWaitFields[] = {maybe<&HostWait::file>("file"), maybe<&HostWait::line>("line"),
                                 maybe<&HostWait::function>("function"), maybe<&HostWait::kind>("what"),
                                 maybe<&HostWait::seconds>("seconds")};
constexpr RecordOf<HostWait> kWait{"wait", "", kWaitFields};

constexpr Field kWindowFields[] = {field<&Window::steps>("steps"),     field<&Window::seconds>("seconds"),
                                   maybe<&Window::samples>("samples"), maybe<&Window::before_s>("before"),
                                   maybe<&Window::began_s>("began"),   maybe<&Window::left_out>("left_out")};
constexpr RecordOf<Window> kWindow{"window", "", kWindowFields};

struct Rows {
  std::vector<std::vector<double>> rows;
};
constexpr Field kRowsFields[] = {field<&Rows::rows>("rows").formed(kNumberOrNull)};
constexpr RecordOf<Rows> kRows{"rows", "", kRowsFields};

Status read_steps(const Json& json, ProgramReport& report) {
  WM_ASSIGN(const Rows steps, read(kRows, json));
  for (const auto& row : steps.rows) {
    if (row.size() != 7 || report.steps.size() >= kMostSteps) return data_error("rows has a row that is no step");
    const auto count = [&](std::size_t i) {
      return row[i] >= 0 && row[i] < 1e15 ? static_cast<std::int64_t>(row[i]) : 0;
    };
    report.steps.push_back({.end_s = row[0],
                            .wait_s = row[1],
                            .forward_s = row[2],
                            .backward_s = row[3],
                            .optimizer_s = row[4],
                            .samples = count(5),
                            .backwards = count(6)});
  }
  return {};
}

struct Fault {
  std::string where, what;
};
constexpr Field kFaultFields[] = {maybe<&Fault::where>("where"), maybe<&Fault::what>("what")};
constexpr RecordOf<Fault> kFault{"fault", "", kFaultFields};

struct Line {
  std::string kind;
  std::int64_t version = kHookVersion;
};
constexpr Field kLineFields[] = {field<&Line::kind>("k"), maybe<&Line::version>("v")};
constexpr RecordOf<Line> kLine{"line", "", kLineFields};

/// What the hook reports, by the "k" of its line: values of the report, or a new item of one of its lists.
constexpr std::pair<std::string_view, Field> kReported[] = {
    {"hello", maybe<&ProgramReport::pid>("pid")},
    {"hello", maybe<&ProgramReport::rank>("rank")},
    {"hello", maybe<&ProgramReport::python>("python")},
    {"torch", field<&ProgramReport::torch>("version")},
    {"torch", maybe<&ProgramReport::cuda>("cuda")},
    {"torch", maybe<&ProgramReport::threads>("threads")},
    {"torch", maybe<&ProgramReport::uncached>("uncached")},
    {"torch", maybe<&ProgramReport::cpus>("cpus")},
    {"torch", maybe<&ProgramReport::world>("world")},
    {"torch", maybe<&ProgramReport::node_cpus>("node_cpus")},
    {"torch", maybe<&ProgramReport::gpu_node>("gpu_node")},
    {"torch", maybe<&ProgramReport::allowed_cpus>("allowed_cpus")},
    {"torch", maybe<&ProgramReport::allocators>("allocators")},
    {"torch", maybe<&ProgramReport::has_taskset>("taskset")},
    {"torch", field<&ProgramReport::gpus>("devices", "", kGpu).added_later()},
    {"patched", maybe<&ProgramReport::patched>("names")},
    {"loader", inlined<&ProgramReport::loaders>(kLoader)},
    {"optimizer", inlined<&ProgramReport::optimizers>(kOptimizer)},
    {"module", inlined<&ProgramReport::modules>(kModule)},
    {"world", maybe<&ProgramReport::world>("world")},
    {"loss", maybe<&ProgramReport::losses>("values").formed(kNumberOrNull)},
    {"outputs", maybe<&ProgramReport::half_outputs>("half")},
    {"outputs", maybe<&ProgramReport::outputs>("values").formed(kNumberOrNull)},
    {"attention", maybe<&ProgramReport::attention_off>("off")},
    {"knob", inlined<&ProgramReport::knobs>(kKnob)},
    {"acts", inlined<&ProgramReport::acts>(kActs)},
    {"read", inlined<&ProgramReport::reads>(kRead)},
    {"host", maybe<&ProgramReport::host_s>("seconds")},
    {"wait", inlined<&ProgramReport::host_waits>(kWait)},
    {"window", inlined<&ProgramReport::window>(kWindow)},
    {"memory", maybe<&ProgramReport::allocated_bytes>("allocated")},
    {"memory", maybe<&ProgramReport::reserved_bytes>("reserved")},
    {"memory", maybe<&ProgramReport::total_bytes>("total")},
    {"memory", maybe<&ProgramReport::emptied>("emptied")},
    {"debugging", maybe<&ProgramReport::debugging>("knobs")},
    {"end", maybe<&ProgramReport::ended>("why")},
    {"end", maybe<&ProgramReport::marker>("marker")},
    {"end", maybe<&ProgramReport::benchmarks>("benchmarks")},
};

/// Lines of other kinds are passed over.
Status read_line(const std::string& kind, const Json& json, ProgramReport& report) {
  for (const auto& [name, field_of] : kReported) {
    if (name != kind) continue;
    void* value = const_cast<void*>(field_of.member(&report));  // of what is filled here, and not constant
    const auto found = field_of.key == nullptr ? json.end() : json.find(field_of.key);
    if (field_of.key == nullptr) {
      WM_TRY(read_record(*field_of.record, json, field_of.type->add(value, {})));
    } else if (found != json.end() && !found->is_null()) {
      WM_TRY(read_value(field_of, *found, value, field_of.key));
    } else if (field_of.presence == Presence::always) {
      return data_error(std::string(field_of.key) + " is missing");
    }
  }
  if (kind == "steps") return read_steps(json, report);
  if (kind == "restart") report.steps.clear(), report.outputs.clear();  // of steps before it
  if (kind == "host") report.host_waits.clear();                        // all so far follow
  if (kind == "window" && (report.window->steps < 1 || !(report.window->seconds > 0))) {
    return data_error("seconds is no time of steps");
  }
  if (kind != "fault") return {};
  WM_ASSIGN(const Fault fault, read(kFault, json));
  report.faults.push_back(fault.where + ": " + fault.what);
  return {};
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
    const auto head = read(kLine, json);
    if (head.ok() && head->version != kHookVersion) {
      return data_error(
          fmt::format("{} has version {} of the report, this warpmark reads {}", place, head->version, kHookVersion),
          "remove an older hook from PYTHONPATH");
    }
    const Status taken = head.ok() ? read_line(head->kind, json, report) : head.error();
    if (!taken.ok()) return data_error(place + ": " + taken.error().what);
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
