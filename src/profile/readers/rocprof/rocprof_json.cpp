// JSON of AMD's rocprofv3 (rocprofiler-sdk, source/lib/output/generateJSON.cpp): per process its agents, the names of
// kinds and operations, kernel symbols, and lists of records with times of the monotonic clock. Parsed as a stream, as
// the lists hold millions of records; one record is in memory at a time.
#include <array>
#include <istream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "profile/catalog.h"
#include "profile/readers/rocprof/rocprof_kinds.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr std::string_view kRoot = "rocprofiler-sdk-tool";

/// What one record says, by "dispatch_info.agent_id.handle". Lists within a record are left out.
struct Record {
  std::map<std::string, std::int64_t, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;

  [[nodiscard]] std::int64_t number(std::string_view key) const {
    const auto found = numbers.find(key);
    return found == numbers.end() ? 0 : found->second;
  }
  [[nodiscard]] std::string text(std::string_view key) const {
    const auto found = texts.find(key);
    return found == texts.end() ? "" : found->second;
  }
};

/// One process: turns records into events.
class Process {
 public:
  void fact(std::string_view path, std::int64_t number) {
    if (path == "metadata.pid") pid_ = number;
  }
  void fact(std::string_view path, const std::string& text) {
    if (path == "metadata.node.hostname") builder_.facts().host = text;
  }

  void record(std::string_view list, const Record& one) {
    if (list == "agents") return agent(one);
    if (list == "kernel_symbols") return symbol(one);
    if (list == "strings.buffer_records") return kinds_.push_back(std::exchange(operations_, {}));
    if (list == "strings.marker_api") markers_[one.number("key")] = one.text("value");
    if (list == "buffer_records.kernel_dispatch") return kernel(one);
    if (list == "buffer_records.memory_copy") return copy(one);
    if (list == "buffer_records.hip_api") return call(one, EventKind::runtime_api);
    if (list == "buffer_records.rccl_api") return call(one, EventKind::op);
    if (list == "buffer_records.marker_api") return call(one, EventKind::annotation);
  }
  void operation(std::string name) { operations_.push_back(std::move(name)); }

  [[nodiscard]] bool empty() const { return builder_.size() == 0; }
  [[nodiscard]] Timeline finish() { return builder_.finish(); }
  [[nodiscard]] TimelineBuilder& builder() { return builder_; }

 private:
  void agent(const Record& one) {
    constexpr std::int64_t kGpu = 2;
    if (one.number("type") != kGpu) return;
    const auto index = static_cast<int>(gpus_.size());
    gpus_[one.number("id.handle")] = index;
    const std::string product = one.text("product_name");
    builder_.facts().gpus.push_back(
        {.index = index,
         .name = product.empty() ? one.text("name") : product,
         .memory_bytes = 0,
         .sm_count = static_cast<int>(one.number("cu_count")),
         .compute_major = 0,
         .compute_minor = 0,
         .max_threads_per_sm = static_cast<int>(one.number("max_waves_per_cu") * one.number("wave_front_size"))});
  }

  void symbol(const Record& one) {
    const std::string name = one.text("formatted_kernel_name");
    symbols_[one.number("kernel_id")] = builder_.intern(name.empty() ? one.text("kernel_name") : name);
  }

  void kernel(const Record& one) {
    constexpr std::array kAxes = {"x", "y", "z"};
    std::array<std::int64_t, 3> grid{}, block{};
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
      block[i] = one.number(std::string("dispatch_info.workgroup_size.") + kAxes[i]);
      grid[i] = one.number(std::string("dispatch_info.grid_size.") + kAxes[i]);
    }
    const LaunchShape shape = rocprof_shape(grid, block, one.number("dispatch_info.group_segment_size"));
    const auto name = symbols_.find(one.number("dispatch_info.kernel_id"));
    add(one, {.name = name == symbols_.end() ? builder_.intern("kernel") : name->second,
              .track = stream(one.number("dispatch_info.agent_id.handle"), one, "dispatch_info.queue_id.handle"),
              .detail = builder_.launch_shape(shape),
              .kind = EventKind::kernel});
  }

  void copy(const Record& one) {
    const std::string name = operation_of(one);
    const CopyKind kind = rocprof_copy_kind(name);
    const char* gpu = kind == CopyKind::host_to_device ? "dst_agent_id.handle" : "src_agent_id.handle";
    add(one, {.value = one.number("bytes"),
              .name = builder_.intern(name),
              .track = stream(one.number(gpu), one, "stream_id.handle"),
              .detail = copy_detail(kind, HostMemory::unknown),
              .kind = EventKind::memcpy});
  }

  /// Ranges of roctx have their texts by correlation.
  void call(const Record& one, EventKind kind) {
    std::string name = operation_of(one);
    if (kind == EventKind::annotation) {
      const auto text = markers_.find(one.number("correlation_id.internal"));
      if (text == markers_.end()) return;
      name = text->second;
    }
    add(one, {.name = builder_.intern(name),
              .track = builder_.track({TrackKind::cpu_thread, pid_, one.number("thread_id"), -1, ""}),
              .kind = kind});
  }

  void add(const Record& one, NewEvent event) {
    event.start = one.number("start_timestamp");
    event.duration = one.number("end_timestamp") - event.start;
    event.correlation = static_cast<std::uint32_t>(one.number("correlation_id.internal"));
    builder_.add(event);
  }

  std::uint32_t stream(std::int64_t agent, const Record& one, std::string_view otherwise) {
    const auto gpu = gpus_.find(agent);
    const std::int64_t stream = one.number("stream_id.handle");
    return builder_.track({TrackKind::gpu_stream, 0, stream != 0 ? stream : one.number(otherwise),
                           gpu == gpus_.end() ? 0 : gpu->second, ""});
  }

  [[nodiscard]] std::string operation_of(const Record& one) const {
    const auto kind = static_cast<std::size_t>(one.number("kind"));
    const auto operation = static_cast<std::size_t>(one.number("operation"));
    return kind < kinds_.size() && operation < kinds_[kind].size() ? kinds_[kind][operation] : "unknown";
  }

  TimelineBuilder builder_;
  std::int64_t pid_ = 0;
  std::map<std::int64_t, int> gpus_;             // by the agent's handle
  std::map<std::int64_t, NameId> symbols_;       // by kernel_id
  std::map<std::int64_t, std::string> markers_;  // by correlation
  std::vector<std::vector<std::string>> kinds_;  // names of operations, by kind
  std::vector<std::string> operations_;          // of the kind that is being read
};

/// Follows where in the document the parser is: root, list of processes, process, then lists of records.
class Handler : public nlohmann::json_sax<Json> {
 public:
  explicit Handler(ProfileSession& session) : session_(session) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<std::int64_t>(value)); }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }

  bool string(string_t& text) override {
    if (in_record() && lists_in_record_ == 0) record_.texts[path(record_level_)] = text;
    if (in_record() && lists_in_record_ == 1 && list_ == "strings.buffer_records") process_.operation(text);
    if (!in_record() && levels_.size() >= kProcessLevel) process_.fact(path(kProcessLevel), text);
    return true;
  }

  bool start_object(std::size_t) override {
    levels_.push_back(key_);
    if (in_record() || levels_.size() <= kProcessLevel || !in_list_) return true;
    record_level_ = levels_.size();
    list_ = path_of_list();
    return true;
  }

  bool end_object() override {
    if (in_record() && levels_.size() == record_level_) {
      process_.record(list_, record_);
      record_ = {};
      record_level_ = 0;
    } else if (levels_.size() == kProcessLevel) {
      finish();
    }
    levels_.pop_back();
    return true;
  }

  bool start_array(std::size_t) override {
    levels_.push_back(key_);
    key_.clear();
    lists_in_record_ += in_record() ? 1 : 0;
    in_list_ = levels_.size() > kProcessLevel;
    return true;
  }

  bool end_array() override {
    lists_in_record_ -= in_record() ? 1 : 0;
    if (!in_record()) in_list_ = false;
    levels_.pop_back();
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    process_.builder().issue("unfinished_file", "the JSON ends early or is damaged: later records are missing",
                             error.what());
    finish();
    return false;
  }

  void finish() {
    if (!process_.empty()) session_.ranks.push_back(process_.finish());
    process_ = Process();
  }

 private:
  static constexpr std::size_t kProcessLevel = 3;

  [[nodiscard]] bool in_record() const { return record_level_ != 0; }

  bool number(std::int64_t value) {
    if (in_record() && lists_in_record_ == 0) record_.numbers[path(record_level_)] = value;
    if (!in_record() && levels_.size() >= kProcessLevel) process_.fact(path(kProcessLevel), value);
    return true;
  }

  /// Keys below the given level, and the one that was read last.
  [[nodiscard]] std::string path(std::size_t from) const {
    std::string joined;
    for (std::size_t i = from; i < levels_.size(); ++i) joined += levels_[i] + '.';
    return joined + key_;
  }
  [[nodiscard]] std::string path_of_list() const {
    std::string joined;
    for (std::size_t i = kProcessLevel; i + 1 < levels_.size(); ++i) joined += (joined.empty() ? "" : ".") + levels_[i];
    return joined;
  }

  ProfileSession& session_;
  Process process_;
  std::vector<std::string> levels_;  // keys of the objects and lists around
  std::string key_;
  std::size_t record_level_ = 0;  // 0: in none
  int lists_in_record_ = 0;
  bool in_list_ = false;
  std::string list_;
  Record record_;
};

Sniff sniff_rocprof_json(std::string_view head) {
  const auto first = head.find_first_not_of(" \t\r\n");
  const bool object = first != std::string_view::npos && head[first] == '{';
  return {object && head.find(kRoot) != std::string_view::npos ? 95 : 0, ""};
}

Status read_rocprof_json(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  const std::size_t before = session.ranks.size();
  SourceBuffer buffer(source);
  std::istream stream(&buffer);
  Handler handler(session);
  (void)Json::sax_parse(stream, &handler);  // the handler keeps what was read before an error
  WM_TRY(buffer.status());
  if (session.ranks.size() > before) return {};
  return data_error("the JSON of rocprofv3 has no records",
                    "record some: rocprofv3 --sys-trace --output-format json -- <command>");
}

}  // namespace

extern const TraceReader kRocprofJsonReader = {"rocprof_json", "JSON of AMD's rocprofv3", sniff_rocprof_json,
                                               read_rocprof_json};

}  // namespace warpmark::profile
