// Nsight Compute as CSV: `ncu --csv --page raw` (a column for each metric, second line the units) and `--page details`
// (a row for each metric or rule).
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "profile/catalog.h"
#include "profile/readers/ncu/ncu_values.h"
#include "profile/readers/text/decimal.h"
#include "profile/readers/text/json_text.h"
#include "profile/readers/text/line_reader.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kMostRecordBytes = 16 << 20;  // of one whose quotes go over several lines

bool is_header(std::string_view line) {
  return line.starts_with("\"ID\",") && line.find("\"Kernel Name\"") != std::string_view::npos;
}

Sniff sniff_ncu_csv(std::string_view head) {
  if (is_header(head)) return {90, ""};
  for (auto at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1)) {
    if (is_header(head.substr(at + 1))) return {90, ""};
  }
  if (head.find("\"Metric Name\",\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"") != std::string_view::npos)
    return {0, "sums of Nsight Compute, without the launches: leave out --print-summary"};
  const bool from_ncu = head.find("==PROF== ") != std::string_view::npos;
  if (from_ncu && head.size() == kSniffBytes) return {50, ""};  // the program printed a lot before the table
  const auto says = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  if (says("ERR_NVGPUCTRPERM"))
    return {
        0,
        "output of Nsight Compute, which was not allowed to read counters (ERR_NVGPUCTRPERM): run it as root, or load "
        "the driver with NVreg_RestrictProfilingToAdminUsers=0"};
  if (says("No kernels were profiled"))
    return {0,
            "output of Nsight Compute in which no kernel was profiled: filters left all out, or child processes launch "
            "them (--target-processes all)"};
  if (says("returned an error code"))
    return {0, "output of Nsight Compute under which the program failed: run the program without it first"};
  if (from_ncu)
    return {0, "output of Nsight Compute without a CSV table: run ncu with --csv --page raw --print-units base"};
  return {};
}

class NcuTable {
 public:
  /// A file may hold many short tables: what they name is kept once.
  NcuTable(const std::vector<std::string>& header, std::shared_ptr<KernelMetricNames> names, ProfileSession& session)
      : header_(header), session_(session), metric_names_(std::move(names)) {
    for (std::size_t i = 0; i < header.size(); ++i) columns_.try_emplace(header[i], i);
    is_details_ = columns_.contains("Metric Name");
    for (std::size_t i = 0; i < header.size() && !is_details_; ++i) {
      if (i > column("CC") && header[i] != "Section Name") metric_columns_.push_back(i);
    }
  }

  void add(std::vector<std::string> fields) {
    if (fields.size() <= column("Kernel Name")) return count("short_row", "rows that end early: left out", fields[0]);
    if (fields[0].empty() && !is_details_) {
      units_ = std::move(fields);
      return;
    }
    const auto id = parse_integer(fields[0]);
    if (!id) return count("short_row", "rows that end early: left out", fields[0]);
    KernelProfile& kernel = kernel_of(*id, fields);
    if (is_details_) {
      add_detail(kernel, fields);
    } else {
      add_raw(kernel, fields);
    }
  }

 private:
  [[nodiscard]] std::size_t column(const char* name) const {
    const auto found = columns_.find(name);
    return found == columns_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::string text_at(const std::vector<std::string>& fields, const char* name) const {
    const auto found = columns_.find(name);
    if (found == columns_.end() || found->second >= fields.size()) return {};
    return fix_utf8(fields[found->second]);  // fixes what is not UTF-8
  }

  KernelProfile& kernel_of(std::int64_t id, const std::vector<std::string>& fields) {
    const std::string process = text_at(fields, "Process ID");
    const auto [known, added] = kernels_.try_emplace({id, process}, session_.kernels.size());
    if (!added) return session_.kernels[known->second];
    KernelProfile kernel;
    kernel.metrics = KernelMetrics(metric_names_);
    kernel.id = id;
    kernel.process = parse_integer(process).value_or(0);
    kernel.name = text_at(fields, "Kernel Name");
    kernel.grid = normal_shape(text_at(fields, "Grid Size"));
    kernel.block = normal_shape(text_at(fields, "Block Size"));
    kernel.stream = parse_integer(text_at(fields, "Stream")).value_or(0);
    kernel.device = static_cast<int>(parse_integer(text_at(fields, "Device")).value_or(-1) & 0x7FFFFFFF);
    if (!columns_.contains("Device")) kernel.device = -1;
    kernel.compute_capability = text_at(fields, "CC");
    kernel.ordinal = launches_[kernel.name + kernel.grid + kernel.block]++;
    session_.kernels.push_back(std::move(kernel));
    return session_.kernels.back();
  }

  void add_raw(KernelProfile& kernel, const std::vector<std::string>& fields) {
    if (kernel.metrics.empty()) kernel.metrics.reserve(std::min(metric_columns_.size(), fields.size()));
    for (const std::size_t i : metric_columns_) {
      if (i >= fields.size()) break;
      const auto value = parse_ncu_value(fields[i], i < units_.size() ? units_[i] : "");
      if (value) kernel.metrics.add(header_[i], value->unit, value->value);
    }
  }

  void add_detail(KernelProfile& kernel, const std::vector<std::string>& fields) {
    if (const std::string label = text_at(fields, "Metric Name"); !label.empty()) {
      const auto value = parse_ncu_value(text_at(fields, "Metric Value"), text_at(fields, "Metric Unit"));
      const std::string id = ncu_metric_id(text_at(fields, "Section Name"), label);
      const bool is_new = seen_.insert(std::to_string(&kernel - session_.kernels.data()) + "/" + id).second;
      if (value && is_new) kernel.metrics.add(id, value->unit, value->value);
    }
    if (KernelRuleText rule{text_at(fields, "Rule Name")}; !rule.name.empty()) {
      rule.type = text_at(fields, "Rule Type");
      rule.description = text_at(fields, "Rule Description");
      rule.speedup_type = text_at(fields, "Estimated Speedup Type");
      const auto speedup = parse_ncu_value(text_at(fields, "Estimated Speedup"), "%");
      rule.speedup_percent = speedup ? speedup->value : 0;
      if (const auto metric = ncu_metric_in(rule.description)) kernel.metrics.add(metric->first, "%", metric->second);
      kernel.rules.push_back(std::move(rule));
    }
  }

  void count(const char* id, const char* text, std::string_view example) {
    count_issue(session_.quality, id, text, example);
  }

  std::vector<std::string> header_;
  ProfileSession& session_;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::size_t> metric_columns_;
  std::vector<std::string> units_;
  std::shared_ptr<KernelMetricNames> metric_names_;
  bool is_details_ = false;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> kernels_;  ///< (ID, process) to the session's index
  std::map<std::string, std::int64_t> launches_;
  std::unordered_set<std::string> seen_;  ///< index of the kernel and metric: sections repeat some
};

Status read_ncu_csv(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  LineReader lines(source);
  std::optional<NcuTable> table;
  const auto names = std::make_shared<KernelMetricNames>();
  std::string record;
  bool is_open = false;  // the record goes on in the next line
  std::string_view line;
  const std::size_t kernels_before = session.kernels.size();
  for (;;) {
    WM_ASSIGN(const bool more, lines.next(line));
    if (!more) break;
    if (is_header(line)) {  // also in the middle: files that were appended to one another
      table.emplace(csv_fields(line), names, session);
      record.clear();
      continue;
    }
    if (!table) continue;
    if (record.empty() && !line.starts_with('"')) continue;  // what the program or ncu printed in between
    if (record.empty()) is_open = false;
    record += record.empty() ? "" : "\n";
    record += line;
    is_open ^= has_open_quote(line);
    if (is_open && record.size() < kMostRecordBytes) continue;
    table->add(csv_fields(record));
    record.clear();
  }
  if (!record.empty())
    count_issue(session.quality, "truncated", "the file ends within a row, which was left out", record);
  count_line_issues(source, lines, session.quality);
  if (session.kernels.size() > kernels_before) return {};
  return data_error("no kernel is in the table of Nsight Compute",
                    "did the program launch one, and match the filters?");
}

}  // namespace

extern const TraceReader kNcuCsvReader = {"ncu_csv", "Nsight Compute, ncu --csv with --page raw or details",
                                          sniff_ncu_csv, read_ncu_csv};

}  // namespace warpmark::profile
