// The data.js that github-action-benchmark keeps its history in (src/write.ts, src/default_index_html.ts): every entry
// is a commit with its benches, so that a whole history moves over at once. Imported again after it has grown, it adds
// the new entries only.
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

constexpr std::string_view kVariable = "window.BENCHMARK_DATA";

bool detect_github_action_history(const Document& document) { return trim(document.text).starts_with(kVariable); }

/// Of custom tools the workflow decides. All others tell it by their units: JMH has rates and times in one file.
std::optional<Better> direction_of(std::string_view tool) {
  if (tool == "customBiggerIsBetter") return Better::higher;
  if (tool == "customSmallerIsBetter") return Better::lower;
  return std::nullopt;
}

Result<Session> read_entry(JsonFields& entry, const std::string& suite, ResultLimit& limit,
                           std::optional<Error>& error) {
  std::string tool = "customSmallerIsBetter", timestamp;
  std::int64_t date_ms = 0;
  entry.maybe("tool", tool);
  Session session = foreign_session("github-action-benchmark", tool);
  entry.object("commit", true, [&](JsonFields& commit) {
    commit.required("id", session.commit);
    commit.maybe("timestamp", timestamp);
  });
  entry.maybe("date", date_ms);
  session.commit = clean_text(session.commit);
  session.started = date_ms > 0 ? format_utc(static_cast<double>(date_ms) / 1000) : to_utc(timestamp).value_or("");
  Status added;
  entry.each("benches", [&](JsonFields& bench) {
    if (!added.ok()) return;
    added = read_named_value(bench, direction_of(tool), session);
    if (added.ok() && !error && suite != "Benchmark") session.runs.back().params.set("suite", clean_text(suite));
    if (added.ok()) added = limit.add(session.runs.back());
  });
  if (!added.ok()) return added.error();
  if (tool == "go") merge_repeats(session);  // -count=10 prints a benchmark ten times
  return session;
}

Result<std::vector<Session>> read_github_action_history(const Document& document) {
  const std::string_view body = trim(document.text);
  const auto brace = body.find('{');
  if (brace == std::string_view::npos) return data_error("there is no object after " + std::string(kVariable));
  std::string_view object = body.substr(brace);
  while (object.ends_with(';')) object = trim(object.substr(0, object.size() - 1));
  WM_ASSIGN(const Json json, parse_results(object, document.name));
  if (!json.contains("entries") || !json["entries"].is_object()) return data_error("it has no 'entries'");
  std::vector<Session> sessions;
  ResultLimit limit(object);
  std::optional<Error> error;
  for (const auto& [suite, entries] : json["entries"].items()) {
    if (!entries.is_array()) return data_error("the entries of '" + clean_text(suite) + "' are no array");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      JsonFields entry(entries[i], "entries." + clean_text(suite) + "[" + std::to_string(i) + "]", error);
      if (error) return *error;
      auto session = read_entry(entry, suite, limit, error);
      if (error) return *error;
      if (!session.ok()) return session.error();
      if (!session->runs.empty()) sessions.push_back(std::move(session).value());
    }
  }
  return sessions;
}

}  // namespace

extern const Format kGithubActionHistory{"github-action-benchmark-history",
                                         "data.js, the history that github-action-benchmark keeps",
                                         detect_github_action_history, read_github_action_history, nullptr};

}  // namespace warpmark::exchange
