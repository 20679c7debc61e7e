// Columns: rocprofiler-sdk, "Using rocprofv3", output file fields; rocprof's own CSV has other names. Versions differ
// in columns, order, case and quotes. PREFIX_kernel_trace.csv has the kernels of a process; its copies, calls and
// ranges stand next to it, on the same clock, joined by correlation ids.
#include "profile/readers/rocprof/rocprof_kinds.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "profile/catalog.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/json_text.h"
#include "profile/readers/text/line_reader.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

enum class Column : std::uint8_t {
  agent,
  queue,
  stream,
  process,
  thread,
  kernel,
  function,
  domain,
  direction,
  source,
  destination,
  bytes,
  correlation,
  start,
  end,
  shared,
  block_x,
  block_y,
  block_z,
  grid_x,
  grid_y,
  grid_z,
  counter,
  count
};

struct Known {
  std::string_view header;  ///< lower case, without separators
  Column column;
};
constexpr Known kKnown[] = {{"agentid", Column::agent},
                            {"gpuid", Column::agent},
                            {"queueid", Column::queue},
                            {"streamid", Column::stream},
                            {"processid", Column::process},
                            {"pid", Column::process},
                            {"threadid", Column::thread},
                            {"tid", Column::thread},
                            {"kernelname", Column::kernel},
                            {"function", Column::function},
                            {"domain", Column::domain},
                            {"direction", Column::direction},
                            {"sourceagentid", Column::source},
                            {"destinationagentid", Column::destination},
                            {"size", Column::bytes},
                            {"bytes", Column::bytes},
                            {"correlationid", Column::correlation},
                            {"starttimestamp", Column::start},
                            {"beginns", Column::start},
                            {"endtimestamp", Column::end},
                            {"endns", Column::end},
                            {"ldsblocksize", Column::shared},
                            {"groupsegmentsize", Column::shared},
                            {"lds", Column::shared},
                            {"workgroupsizex", Column::block_x},
                            {"workgroupsizey", Column::block_y},
                            {"workgroupsizez", Column::block_z},
                            {"workgroupsize", Column::block_x},
                            {"wgr", Column::block_x},
                            {"gridsizex", Column::grid_x},
                            {"gridsizey", Column::grid_y},
                            {"gridsizez", Column::grid_z},
                            {"gridsize", Column::grid_x},
                            {"grd", Column::grid_x},
                            {"countername", Column::counter}};

constexpr std::size_t kAbsent = SIZE_MAX;
/// Ends of the names of a process's files: first the one with the kernels.
constexpr std::array<std::string_view, 5> kOfProcess = {
    "kernel_trace.csv", "memory_copy_trace.csv", "hip_api_trace.csv", "marker_api_trace.csv", "rccl_api_trace.csv"};

class Columns {
 public:
  /// Nothing if the line is no header of a table with times of kernels, copies or calls.
  static std::optional<Columns> of(std::string_view line) {
    Columns columns;
    columns.places_.fill(kAbsent);
    line = line.substr(0, std::min<std::size_t>(line.find_first_of("\r\n"), 4096));
    const auto headers = csv_fields(line);
    for (std::size_t i = 0; i < headers.size(); ++i) {
      std::string name = ascii_lower(trim(headers[i]));
      std::erase_if(name, [](char c) { return c == '_' || c == '-'; });
      const auto* const known = std::ranges::find(kKnown, name, &Known::header);
      if (known != std::end(kKnown)) columns.places_[static_cast<std::size_t>(known->column)] = i;
    }
    const bool has_name = columns.has(Column::kernel) || columns.has(Column::direction) ||
                          (columns.has(Column::function) && columns.has(Column::domain));
    const bool has_times = columns.has(Column::start) && columns.has(Column::end);
    if (!has_name || !has_times || columns.has(Column::counter)) return std::nullopt;  // counters repeat each kernel
    return columns;
  }

  [[nodiscard]] bool has(Column column) const { return places_[static_cast<std::size_t>(column)] != kAbsent; }
  [[nodiscard]] std::string_view text(const std::vector<std::string>& fields, Column column) const {
    const std::size_t place = places_[static_cast<std::size_t>(column)];
    return place < fields.size() ? std::string_view(fields[place]) : std::string_view();
  }
  [[nodiscard]] std::int64_t number(const std::vector<std::string>& fields, Column column) const {
    return parse_integer(text(fields, column)).value_or(0);
  }
  /// "Agent 4", "GPU-0" and "4".
  [[nodiscard]] int agent(const std::vector<std::string>& fields, Column column) const {
    std::string_view name = text(fields, column);
    const auto digits = std::min(name.find_last_not_of("0123456789") + 1, name.size());
    return static_cast<int>(std::clamp<std::int64_t>(parse_integer(name.substr(digits)).value_or(0), 0, 0xFFFF));
  }

 private:
  std::array<std::size_t, static_cast<std::size_t>(Column::count)> places_{};
};

class RocprofTable {
 public:
  [[nodiscard]] Status add(ByteSource& source) {
    line_ = 0;
    columns_.reset();
    return for_each_line(source, builder_.facts().quality, [this](std::string_view line) { add_line(line); });
  }

  [[nodiscard]] Status finish(ProfileSession& session) {
    if (builder_.size() > 0 && !has_work_) {
      builder_.issue("calls_alone",
                     "calls without the kernels that they start: read the *_kernel_trace.csv of the same run");
    }
    if (builder_.size() > 0) return session.ranks.push_back(builder_.finish()), Status();
    if (!bad_row_.empty()) return data_error("no row of rocprof's table can be read: " + bad_row_, kRecord);
    return data_error("rocprof's table has no rows", kRecord);
  }

 private:
  static constexpr const char* kRecord =
      "record some: rocprofv3 --kernel-trace --hip-trace --memory-copy-trace --output-format csv -- <command>";

  void add_line(std::string_view line) {
    ++line_;
    if (trim(line).empty()) return;
    if (auto columns = Columns::of(line)) {
      columns_ = columns;
    } else if (columns_) {
      row(csv_fields(line), line);
    }
  }

  void row(const std::vector<std::string>& fields, std::string_view line) {
    const auto start = parse_integer(columns_->text(fields, Column::start));
    const auto end = parse_integer(columns_->text(fields, Column::end));
    if (!start || !end) {
      const std::string example = "line " + std::to_string(line_) + ": " + std::string(line.substr(0, 80));
      if (bad_row_.empty()) bad_row_ = example;
      return builder_.issue("short_row", "rows without a start and an end: left out", example);
    }
    NewEvent event{.start = *start};
    if (__builtin_sub_overflow(*end, *start, &event.duration)) event.duration = INT64_MAX;
    event.correlation = static_cast<std::uint32_t>(columns_->number(fields, Column::correlation));
    if (columns_->has(Column::kernel)) {
      kernel(fields, event);
    } else if (columns_->has(Column::direction)) {
      copy(fields, event);
    } else {
      call(fields, event);
    }
    has_work_ |= is_gpu_work(event.kind);
    (void)builder_.add(event);
  }

  void kernel(const std::vector<std::string>& fields, NewEvent& event) {
    const auto number = [&](Column column) { return columns_->number(fields, column); };
    event.kind = EventKind::kernel;
    event.name = builder_.intern(fix_utf8(columns_->text(fields, Column::kernel)));
    event.track = stream(fields, Column::agent);
    event.detail = builder_.launch_shape(rocprof_shape(
        {number(Column::grid_x), number(Column::grid_y), number(Column::grid_z)},
        {number(Column::block_x), number(Column::block_y), number(Column::block_z)}, number(Column::shared)));
  }

  void copy(const std::vector<std::string>& fields, NewEvent& event) {
    const std::string_view direction = columns_->text(fields, Column::direction);
    const CopyKind kind = rocprof_copy_kind(direction);
    event.kind = EventKind::memcpy;
    event.name = builder_.intern(fix_utf8(direction));
    event.track = stream(fields, kind == CopyKind::host_to_device ? Column::destination : Column::source);
    event.value = columns_->number(fields, Column::bytes);
    event.detail = copy_detail(kind, HostMemory::unknown);
  }

  void call(const std::vector<std::string>& fields, NewEvent& event) {
    event.kind = rocprof_call_kind(columns_->text(fields, Column::domain));
    event.name = builder_.intern(fix_utf8(columns_->text(fields, Column::function)));
    event.track = builder_.track({TrackKind::cpu_thread, columns_->number(fields, Column::process),
                                  columns_->number(fields, Column::thread), -1, ""});
  }

  std::uint32_t stream(const std::vector<std::string>& fields, Column agent) {
    const std::int64_t stream = columns_->number(fields, Column::stream);
    return builder_.track({TrackKind::gpu_stream, 0, stream != 0 ? stream : columns_->number(fields, Column::queue),
                           columns_->agent(fields, agent), ""});
  }

  TimelineBuilder builder_;
  std::optional<Columns> columns_;
  std::int64_t line_ = 0;
  std::string bad_row_;
  bool has_work_ = false;
};

/// "out/1234_" of out/1234_kernel_trace.csv and of the files that belong to it; nothing of others.
std::optional<std::string> prefix_of(const fs::path& path) {
  const std::string name = path.string();
  for (const std::string_view ending : kOfProcess) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return std::nullopt;
}

Sniff sniff_rocprof_csv(std::string_view head) {
  const auto end = std::min(head.find('\n'), head.size());
  return {Columns::of(head.substr(0, end)) ? 85 : 0, ""};
}

Status read_rocprof_csv(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  RocprofTable table;
  WM_TRY(table.add(source));
  const auto prefix = prefix_of(source.path());
  for (const std::string_view ending : kOfProcess) {
    std::error_code code;
    const fs::path path = prefix.value_or("") + std::string(ending);
    if (!prefix || path == source.path() || !fs::is_regular_file(path, code)) continue;
    WM_ASSIGN(const auto next, open_source(path));
    WM_TRY(table.add(*next));
  }
  return table.finish(session);
}

}  // namespace

bool is_read_with_kernels(const fs::path& file, const std::vector<fs::path>& files) {
  const auto prefix = prefix_of(file);
  const fs::path kernels = prefix.value_or("") + std::string(kOfProcess[0]);
  return prefix && file != kernels && std::ranges::find(files, kernels) != files.end();
}

extern const TraceReader kRocprofCsvReader = {"rocprof_csv", "CSV of AMD's rocprofv3 (*_kernel_trace.csv)",
                                              sniff_rocprof_csv, read_rocprof_csv};

}  // namespace warpmark::profile
