// The tables of an Nsight Systems export as events, one TimelineBuilder a process.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/profile/profile_session.h"
#include "profile/source.h"
#include "profile/sqlite_database.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {

inline constexpr std::size_t kMostProcesses = 1
                                              << 12;  ///< of one database; what belongs to more is counted as process 0

/// Of a device or a count in it, which may be damaged.
[[nodiscard]] inline int to_small(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, -1, 0xFFFF));
}

/// What a database of some size can hold at most. One whose pages refer to one another in circles, by damage or by
/// intent, seems to hold rows without end.
class Allowance {
 public:
  Allowance() = default;
  explicit Allowance(std::int64_t file_bytes);
  /// False once it is more than fits.
  [[nodiscard]] bool take_row() { return --rows_ >= 0; }
  [[nodiscard]] bool take_text(std::size_t bytes) { return (text_bytes_ -= static_cast<std::int64_t>(bytes)) >= 0; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t text_bytes_ = 0;
};

class NsysTables {
 public:
  [[nodiscard]] static Result<NsysTables> open(Database database);
  [[nodiscard]] static Result<NsysTables> open(ByteSource& source);

  [[nodiscard]] bool has(const std::string& table) const { return columns_.contains(table); }
  /// Names of tables that begin so.
  [[nodiscard]] std::vector<std::string> names(const std::string& begin) const;
  /// Rows of the table with these columns in this order; "a|b" is the first of two names that exists.
  [[nodiscard]] Result<Statement> select(const std::string& table, std::initializer_list<const char*> columns) const;
  /// Of the table StringIds; empty if unknown.
  [[nodiscard]] const std::string& string(std::int64_t id) const;
  [[nodiscard]] const Database& database() const { return database_; }
  /// What is left of it after the strings.
  [[nodiscard]] const Allowance& allowance() const { return allowance_; }

 private:
  Database database_;
  Allowance allowance_;
  std::map<std::string, std::set<std::string>> columns_;
  std::unordered_map<std::int64_t, std::string> strings_;
};

/// Calls `row(statement)` for each row of a table, if the table is there. False if a damaged page ends it early.
template <typename Row>
[[nodiscard]] Result<bool> each_row(const NsysTables& tables, const std::string& table,
                                    std::initializer_list<const char*> columns, Allowance& allowance, Row row) {
  if (!tables.has(table)) return true;
  WM_ASSIGN(Statement rows, tables.select(table, columns));
  for (;;) {
    const auto more = rows.step();
    if (!more.ok() || (*more && !allowance.take_row())) return false;
    if (!*more) return true;
    row(rows);
  }
}

[[nodiscard]] inline std::int64_t process_of(std::int64_t global_id) { return global_id >> 24 & 0xFFFFFF; }
[[nodiscard]] inline std::int64_t thread_of(std::int64_t global_id) { return global_id & 0xFFFFFF; }

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
