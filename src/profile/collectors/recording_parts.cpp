#include "profile/collectors/recording_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "model/profile/event_kind.h"
#include "profile/read_session.h"
#include "profile/recording/convert.h"

namespace warpmark::profile {
namespace {

/// Name of the rows; their process and thread are those of the thread that was sampled.
constexpr const char* kPythonStackRow = "Python stack";

constexpr const char* kNativeStackRow = "C++ stack";

namespace fs = std::filesystem;

constexpr std::int64_t kLargestFile = 256 << 20;
constexpr std::int64_t kMostGapNs = 100'000'000;  // a sample stands for no longer: the sampler waits for the GIL

struct Sample {
  std::int64_t time_ns = 0;
  std::size_t stack = 0;
};

struct Address {
  std::int64_t module = -1;
  std::uint64_t offset = 0;  ///< as the module's file counts
};

struct Sampled {
  bool native = false;
  std::map<std::int64_t, std::string> modules;                         ///< by number: path
  std::map<std::int64_t, Address> addresses;                           ///< by number of the frame
  std::unordered_map<std::int64_t, std::string> frames;                ///< by number: "/home/me/train.py:57 main"
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> stacks;  ///< by number: frames, outermost first
  std::map<std::int64_t, std::vector<Sample>> threads;                 ///< by system id
  std::int64_t period_ns = 5'000'000;
};

template <typename T>
T field(const Json& line, const char* key, T otherwise) {
  const auto found = line.find(key);
  if (found == line.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->get<std::string>() : otherwise;
  } else {
    return found->is_number() ? found->get<T>() : otherwise;
  }
}

void take_stack(const Json& line, Sampled& sampled) {
  const auto frames = line.find("f");
  if (frames == line.end() || !frames->is_array()) return;
  std::vector<std::int64_t> numbers;
  for (const Json& number : *frames) {
    if (number.is_number_integer()) numbers.push_back(number.get<std::int64_t>());
  }
  std::reverse(numbers.begin(), numbers.end());
  sampled.stacks[field<std::int64_t>(line, "i", -1)] = std::move(numbers);
}

void take(const Json& line, Sampled& sampled) {
  const auto kind = field<std::string>(line, "k", "");
  if (kind == "begin") {  // what was recorded before was start-up
    sampled = {};
    sampled.native = field(line, "native", 0) != 0;
    sampled.period_ns = static_cast<std::int64_t>(field(line, "period", 0.005) * 1e9);
  } else if (kind == "f") {
    sampled.frames[field<std::int64_t>(line, "i", -1)] = field<std::string>(line, "file", "") + ":" +
                                                         std::to_string(field<std::int64_t>(line, "line", 0)) + " " +
                                                         field<std::string>(line, "fn", "");
  } else if (kind == "m") {
    sampled.modules[field<std::int64_t>(line, "i", -1)] = field<std::string>(line, "path", "");
  } else if (kind == "a") {
    sampled.addresses[field<std::int64_t>(line, "i", -1)] = {field<std::int64_t>(line, "m", -1),
                                                             field<std::uint64_t>(line, "o", 0)};
  } else if (kind == "s") {
    take_stack(line, sampled);
  } else if (kind == "t") {
    const auto stack = field<std::int64_t>(line, "s", -1);
    if (!sampled.stacks.contains(stack)) return;
    sampled.threads[field<std::int64_t>(line, "th", 0)].push_back(
        {field<std::int64_t>(line, "t", 0), static_cast<std::size_t>(stack)});
  }
}

Sampled parse(const std::string& text) {
  Sampled sampled;
  for (const std::string& line : split(text, '\n')) {
    const auto json = parse_json(line, "stacks");
    if (json.ok() && json->is_object()) take(*json, sampled);
  }
  return sampled;
}

/// Of the system or of CUDA: where debug information of it is installed, its lines are still nobody's to fix.
bool is_of_system(const std::string& module) {
  for (const char* folder : {"/usr/lib", "/lib", "/usr/local/cuda"}) {
    if (module.starts_with(folder)) return true;
  }
  return false;
}

std::string text_of(const SymbolizedFrame& frame, const std::string& module) {
  if (!frame.file.empty() && !is_of_system(module))
    return frame.file + ":" + std::to_string(frame.line) + " " + frame.function;
  return frame.function.empty() ? "in " + fs::path(module).filename().string() : frame.function;
}

/// Gives addresses their names: of each one frame or, where functions were inlined, several in its place.
void name_addresses(Sampled& sampled, Symbolizer& symbolizer) {
  std::map<std::int64_t, std::vector<std::int64_t>> named;  // by number of the address: frames, outermost first
  std::map<std::string, std::int64_t> numbers;              // by text
  for (const auto& [number, address] : sampled.addresses) {
    const std::string path = address.module < 0 ? "" : sampled.modules[address.module];
    const auto frames = path.empty() ? std::vector<SymbolizedFrame>(1) : symbolizer.frames_at(path, address.offset);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const auto [known, is_new] =
          numbers.try_emplace(text_of(*frame, path), static_cast<std::int64_t>(numbers.size()));
      if (is_new) sampled.frames[known->second] = known->first;
      named[number].push_back(known->second);
    }
  }
  for (auto& [number, stack] : sampled.stacks) {
    std::vector<std::int64_t> frames;
    for (const std::int64_t address : stack) frames.insert(frames.end(), named[address].begin(), named[address].end());
    stack = std::move(frames);
  }
}

/// The frames of a thread as nested events: a frame goes on while the samples that follow have it at the same depth
/// under the same callers.
class Frames {
 public:
  Frames(const Sampled& sampled, std::uint32_t track, recording::RecordingWriter& writer)
      : sampled_(sampled), track_(track), writer_(writer) {}

  void add(const std::vector<Sample>& samples) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto& stack = sampled_.stacks.at(static_cast<std::int64_t>(samples[i].stack));
      std::size_t same = 0;
      while (same < open_.size() && same < stack.size() && open_[same].frame == stack[same]) ++same;
      close_to(same, samples[i].time_ns);
      for (std::size_t depth = same; depth < stack.size(); ++depth) open_.push_back({stack[depth], samples[i].time_ns});
      const bool last = i + 1 == samples.size();
      const std::int64_t next = last ? samples[i].time_ns + sampled_.period_ns : samples[i + 1].time_ns;
      if (last || next - samples[i].time_ns > kMostGapNs) close_to(0, samples[i].time_ns + sampled_.period_ns);
    }
  }

 private:
  struct Open {
    std::int64_t frame = 0;
    std::int64_t start_ns = 0;
  };

  /// The outer ones first: of events that begin and end together, that order tells which is within the other.
  void close_to(std::size_t depth, std::int64_t end_ns) {
    for (std::size_t i = depth; i < open_.size(); ++i) {
      const auto name = sampled_.frames.find(open_[i].frame);
      recording::EventRecord event;
      event.start_ns = open_[i].start_ns;
      event.duration_ns = std::max<std::int64_t>(1, end_ns - event.start_ns);
      event.name = writer_.name(name == sampled_.frames.end() ? std::string_view("?") : name->second);
      event.track = track_;
      event.kind = static_cast<std::uint8_t>(EventKind::python);
      writer_.event(event);
    }
    if (depth < open_.size()) open_.resize(depth);
  }

  const Sampled& sampled_;
  const std::uint32_t track_;
  recording::RecordingWriter& writer_;
  std::vector<Open> open_;
};

/// The file goes on from a part, so it has no chunk that begins one.
Status leave_out_begin(const fs::path& path) {
  WM_ASSIGN(const std::string bytes, read_file(path, kLargestFile));
  constexpr std::size_t kBegin = sizeof(recording::ChunkHeader) + sizeof(std::uint32_t);
  return write_file(path, bytes.substr(std::min(kBegin, bytes.size())));
}

Status write(const Sampled& sampled, std::int64_t process, const fs::path& to) {
  recording::RecordingWriter writer;
  if (!writer.open(to.c_str())) return environment_error("cannot write " + to.string());
  for (const auto& [thread, samples] : sampled.threads) {
    recording::TrackRecord track;
    track.kind = static_cast<std::uint8_t>(TrackKind::other);
    track.process = process;
    track.thread = thread;
    Frames(sampled, writer.track(track, sampled.native ? kNativeStackRow : kPythonStackRow), writer).add(samples);
  }
  writer.metadata(sampled.native ? "native_stack_period_ns" : "python_stack_period_ns",
                  std::to_string(sampled.period_ns));
  writer.flush();
  writer.close();
  if (writer.error() != 0) return environment_error("cannot write " + to.string());
  return leave_out_begin(to);
}

/// What the sampler of Python stacks (workers/hook/_warpmark_stacks.py) or of native ones
/// (profile/module/stacks/native_stacks.h) wrote becomes part of a recording: for each thread a row "Python stack" or
/// "C++ stack", whose events are the frames, one within the other, for as long as samples show them.
/// For each part "<process>.wmrec" of which `stacks` holds "<process>.jsonl": a file "<process>.wmrec.stacks" beside it
/// with chunks that go on from it, put behind it in `parts`. Environment error if it cannot be written; lines that make
/// no sense are left out, as the program may have been killed while it wrote. `problem`: why native stacks have no
/// names.
Status add_stacks(const fs::path& stacks, std::vector<fs::path>& parts, std::string& problem) {
  std::vector<fs::path> all;
  for (const fs::path& part : parts) {
    all.push_back(part);
    const auto process = parse_integer(part.stem().string());
    const fs::path lines = stacks / (part.stem().string() + ".jsonl");
    std::error_code none;
    if (!process.ok() || !fs::exists(lines, none)) continue;
    const auto text = read_file(lines, kLargestFile);
    if (!text.ok()) {  // the recording itself is worth more than its lines
      problem = text.error().what;
      continue;
    }
    Sampled sampled = parse(*text);
    if (sampled.threads.empty()) continue;
    if (sampled.native) {
      auto symbolizer = Symbolizer::make();
      if (!symbolizer.ok()) {
        problem = symbolizer.error().what + ": " + symbolizer.error().hint;
        continue;
      }
      name_addresses(sampled, *symbolizer);
    }
    const fs::path to = part.string() + ".stacks";
    WM_TRY(write(sampled, *process, to));
    all.push_back(to);
  }
  parts = std::move(all);
  return {};
}

namespace fs = std::filesystem;

constexpr const char* kMachinePart = "machine.wmrec";
constexpr const char* kTracesPart = "traces.wmrec";
constexpr const char* kBegunMark = ".begun";  // of ".ID.begun", where a process writes its part only at the end
constexpr const char* kDoneMark = ".done";    // of ".ID.done", as the recorder's module names it

/// What the processes wrote, in the order of their names, and what we wrote about the machine.
std::vector<fs::path> parts_in(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) parts.push_back(entry.path());
  std::sort(parts.begin(), parts.end());
  return parts;
}

/// Of the processes that wrote these parts, which are named by their ids. Nobody else can have such an id meanwhile:
/// the command has only just ended.
std::vector<std::int64_t> running_among(const std::vector<fs::path>& parts) {
  std::vector<std::int64_t> running;
  for (const auto& part : parts) {
    const auto id = parse_integer(part.stem().string());
    const std::string state = id.ok() ? first_line("/proc/" + std::to_string(*id) + "/stat") : "";
    if (!state.empty() && state.find(") Z ") == std::string::npos) running.push_back(*id);
  }
  return running;
}

/// Kineto's traces as one part; their number.
Result<std::int64_t> take_traces(const fs::path& folder) {
  std::vector<fs::path> traces = parts_in(folder);
  std::erase_if(traces, [](const fs::path& part) { return part.extension() != ".json"; });
  if (traces.empty()) return 0;
  WM_ASSIGN(const auto session, read_session(traces));
  WM_TRY(kRecordingFormat.write(session, folder / kTracesPart));
  return std::ssize(traces);
}

}  // namespace

fs::path parts_folder(const fs::path& out) { return fs::absolute(out.string() + ".parts"); }

Result<RecordingParts> RecordingParts::make(const fs::path& out, const std::string& command) {
  RecordingParts parts;
  parts.folder_ = parts_folder(out);
  WM_TRY(make_folder(parts.folder_, "choose a file in a folder that you can write with --out"));
  parts.machine_ = std::make_unique<recording::RecordingWriter>();
  if (!parts.machine_->open((parts.folder_ / kMachinePart).c_str())) {
    return environment_error("cannot write into " + parts.folder_.string(), "choose another --out");
  }
  parts.machine_->metadata("command", command);
  return parts;
}

std::size_t RecordingParts::begun() const {
  std::set<std::string> processes;
  for (const auto& part : parts_in(folder_)) {
    if (part.extension() == kBegunMark) processes.insert(part.stem().string().substr(1));
    if (part.extension() == ".wmrec" && part.filename() != kMachinePart) processes.insert(part.stem().string());
  }
  return processes.size();
}

bool RecordingParts::all_recorded() const {
  const auto parts = parts_in(folder_);
  const auto done = std::count_if(parts.begin(), parts.end(), [](const auto& p) { return p.extension() == kDoneMark; });
  return done > 0 && static_cast<std::size_t>(done) >= begun();
}

void RecordingParts::discard() {
  machine_->close();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Status RecordingParts::complete(const RecordOptions& options, RecordOutcome& outcome) {
  machine_->finish();
  WM_ASSIGN(const std::int64_t traces, take_traces(folder_));
  auto parts = parts_in(folder_);
  for (const auto& part : parts) {
    if (part.extension() == ".phases" && outcome.phases.empty()) outcome.phases = first_line(part);
  }
  std::erase_if(parts, [](const fs::path& part) { return part.extension() != ".wmrec"; });
  outcome.processes = std::ssize(parts) - 1 + (traces > 0 ? traces - 1 : 0);
  outcome.still_running = running_among(parts);
  if (outcome.processes == 0) {  // samples of the machine alone: not worth what may be in the file
    discard();
    return {};
  }
  if (!options.stacks.empty()) WM_TRY(add_stacks(options.stacks, parts, outcome.stacks_problem));
  if (const Status joined = recording::join_parts(parts, options.out); !joined.ok()) {
    Error error = joined.error();
    error.hint = "the parts are kept in " + folder_.string() + ", which warpmark analyze reads too";
    return error;
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  return {};
}

}  // namespace warpmark::profile
