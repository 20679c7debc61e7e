// Parts that the readers of all formats build their sessions from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/json/json_fields.h"
#include "model/run.h"

namespace warpmark::exchange {

/// The most results that are believed of a file of this size. A result takes some 2 KB of memory and a parameter 80
/// bytes, however short their text is.
///   results (metrics of runs)  30 000, or one for every 100 bytes of text
///   parameters                 100 000, or one for every 10 bytes
class ResultLimit {
 public:
  explicit ResultLimit(std::string_view text)
      : most_results_(std::max<std::size_t>(30'000, text.size() / 100)),
        most_params_(std::max<std::size_t>(100'000, text.size() / 10)) {}

  /// A run that is complete. Data error for one too many.
  [[nodiscard]] Status add(const Run& run) { return add(std::max<std::size_t>(1, run.metrics.size()), run.params); }
  [[nodiscard]] Status add(std::size_t results, const Params& params = {});
  /// The session's last run, where reading it went well.
  [[nodiscard]] Status add_after(const Status& read, const Session& session) {
    return read.ok() ? add(session.runs.back()) : read;
  }

 private:
  std::size_t most_results_, most_params_;
  std::size_t results_ = 0, params_ = 0;
};

/// Of one result: each is looked for among all others.
inline constexpr std::size_t kMostParams = 256, kMostMetrics = 1000;

/// JSON of results; beyond what base/json.h refuses, a data error for objects of more than 10 000 keys, and for more
/// than 500 000 values where one has less than 10 bytes: they would take 20 to 50 times the text.
[[nodiscard]] Result<Json> parse_results(std::string_view text, std::string_view name);

/// A session of another tool. `version` may be empty.
[[nodiscard]] Session foreign_session(std::string_view tool, std::string_view version = {});

/// A passed run of the session, `name` cleaned; more is filled in by the caller. The reference ends with the next call.
Run& add_run(Session& session, std::string_view name, std::string_view device);

struct Quantity {
  const char* id;
  const char* unit;  ///< SI
  Better better = Better::lower;
};

/// The device of results of which nobody knows where they were measured.
inline constexpr const char* kUnknownDevice = "unknown";

inline constexpr Quantity kTime{"time", "s", Better::lower};

/// How samples belong together: each is a start of its own; all were taken in one go; or they are the rounds of one
/// process, of which each is a round, of more than 30 each of 30 blocks (neighbours are alike). A note says the latter.
enum class Grouping { one_round, round_each, one_process };

/// Data error beyond kMostParams.
[[nodiscard]] Status set_param(Run& run, std::string_view name, ParamValue value);

/// Data error for a sample that is not finite or absurdly large, for a time below 0, and beyond kMostMetrics. Without
/// samples nothing is added.
[[nodiscard]] Status add_metric(Run& run, const Quantity& quantity, std::vector<double> samples,
                                Grouping grouping = Grouping::one_round);

/// The same of samples by rounds: processes, forks. Empty rounds are left out.
[[nodiscard]] Status add_rounds(Run& run, const Quantity& quantity, const std::vector<std::vector<double>>& rounds);

/// Runs of one case become rounds of the first, where a tool repeats a benchmark by printing it again.
void merge_repeats(Session& session);

/// A metric of which the file has a summary alone: it counts as one sample, and a note says of what.
[[nodiscard]] Status add_summary_metric(Run& run, const Quantity& quantity, double value, const std::string& note);

/// The text without control characters (they become blanks) and with U+FFFD for what is not UTF-8: names from a file
/// are printed on terminals.
[[nodiscard]] std::string clean_text(std::string_view text);

/// Integers and numbers that print as they were written become such; everything else is text.
[[nodiscard]] ParamValue param_value(std::string_view text);

/// Whether these cells of a column are written as 1,5 or 1.234,5: some number has a decimal comma, and none a point.
[[nodiscard]] bool has_decimal_commas(std::span<const std::string_view> cells);
/// With decimal commas points only group thousands.
[[nodiscard]] Result<double> number_in_cell(std::string_view cell, bool decimal_commas);

/// "2026-03-01T12:34:56Z" from an ISO 8601 date and time, with any offset or none (UTC) and any fraction; nothing if it
/// is something else.
[[nodiscard]] std::optional<std::string> to_utc(std::string_view text);

/// Makes the workload's name, which is a whole name already, what report::case_name gives.
void keep_name(Run& run);

/// Sets the machine's one device; facts that are empty or 0 stay unknown.
void set_processor(Session& session, const std::string& name, std::int64_t compute_units, double max_clock_hz);

/// 16 hexadecimal digits (FNV-1a, 64 bits) of texts, one after another.
class Digest {
 public:
  void add(std::string_view text);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::uint64_t bits() const { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};
[[nodiscard]] std::string digest(std::string_view text);

/// Reads the document by `read(fields, session)` and turns its first complaint into an error that names the file.
template <typename Read>
[[nodiscard]] Result<std::vector<Session>> read_object(const Json& json, Session session, Read&& read) {
  std::optional<Error> error;
  JsonFields fields(json, "", error);
  if (!error) read(fields, session);
  if (error) return *error;
  std::vector<Session> sessions;
  sessions.push_back(std::move(session));
  return sessions;
}

}  // namespace warpmark::exchange
