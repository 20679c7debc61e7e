// The tables of an Nsight Systems export as events, one TimelineBuilder a process.
#pragma once

#include <map>
#include <set>

#include "model/profile/profile_session.h"
#include "profile/readers/nsys/nsys_tables.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {

/// Not thread safe.
class NsysEvents {
 public:
  explicit NsysEvents(const NsysTables& tables) : tables_(tables), allowance_(tables.allowance()) {}
  [[nodiscard]] Status read();
  /// Appends a timeline for each process that used the GPU; of the others only if none did.
  void finish(ProfileSession& session);

 private:
  struct Process {
    TimelineBuilder builder;
    std::unordered_map<std::int64_t, NameId> names;  ///< of StringIds
  };
  /// Calls `row(statement)` for each row of a table, if the table is there.
  template <typename Row>
  [[nodiscard]] Status each(const char* table, std::initializer_list<const char*> columns, Row row);

  /// A text of a row, valid UTF-8.
  [[nodiscard]] std::string text_of(const Statement& row, int column);
  [[nodiscard]] Process& process(std::int64_t id);
  [[nodiscard]] NameId name(Process& process, std::int64_t string_id);
  void add(Process& process, Statement& row, NewEvent event);
  [[nodiscard]] std::uint32_t cpu_track(Process& process, std::int64_t global_id);
  [[nodiscard]] static std::uint32_t stream_track(Process& process, std::int64_t device, std::int64_t stream);

  [[nodiscard]] Status read_facts();
  [[nodiscard]] Status read_kernels();
  [[nodiscard]] Status read_copies();
  [[nodiscard]] Status read_graphs();
  [[nodiscard]] Status read_syncs();
  [[nodiscard]] Status read_calls();
  [[nodiscard]] Status read_ranges();
  [[nodiscard]] Status read_memory();
  [[nodiscard]] Status read_page_faults();
  [[nodiscard]] Status read_metrics();

  const NsysTables& tables_;
  Allowance allowance_;
  std::map<std::int64_t, Process> processes_;
  std::set<std::int64_t> with_gpu_;
  std::unordered_map<std::int64_t, std::string> thread_names_;  ///< by global id
  std::vector<GpuInfo> gpus_;
  std::int64_t utc_ns_ = 0;  ///< of the session's time 0
  std::vector<CounterSeries> counters_;
};

template <typename Row>
Status NsysEvents::each(const char* table, std::initializer_list<const char*> columns, Row row) {
  WM_ASSIGN(const bool whole, each_row(tables_, table, columns, allowance_, row));
  // A damaged page ends the table, not the whole file.
  if (!whole) process(0).builder.issue("damaged_table", "tables that could not be read to their end", table);
  return {};
}

}  // namespace warpmark::profile
