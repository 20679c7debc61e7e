// What `go test -bench` prints (golang.org/design/14313-benchmark-format): a name, the number of iterations, then
// values with their units. A benchmark that is printed again (-count) is a further round.
#include "base/text.h"
#include "base/units.h"
#include "exchange/format.h"
#include "exchange/quantities.h"
#include "profile/readers/text/line_reader.h"

namespace warpmark::exchange {
namespace {

using Words = std::vector<std::string_view>;

bool is_result(const Words& words) {
  return words.size() >= 4 && words[0].starts_with("Benchmark") && parse_integer(words[1]).ok() &&
         parse_number(words[2]).ok();
}

template <typename Use>
void for_each_line(std::string_view text, Use use) {
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    use(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool detect_go_bench(const Document& document) {
  if (document.json || document.text.find("Benchmark") == std::string_view::npos) return false;
  bool found = false;
  for_each_line(document.text.substr(0, 1 << 16), [&](std::string_view line) {
    if (!found && line.starts_with("Benchmark")) found = is_result(profile::words_of(line));
  });
  return found;
}

Status add_value(Run& run, std::string_view unit_text, double value) {
  const Unit unit = unit_of(unit_text);
  std::string id = metric_for(unit.si);
  Better better = direction_of_unit(unit.si);
  if (unit_text == "B/op") id = "allocated";
  if (unit_text == "allocs/op") {
    id = "allocations";
    better = Better::lower;
  } else if (id == "value") {
    id = clean_text(unit_text);
  }
  const bool known = unit.si != clean_text(unit_text) || id == "time";
  return add_metric(run, {id.c_str(), known ? unit.si.c_str() : "", better}, {unit.to_si(value)});
}

Status add_line(const Words& words, Session& session) {
  std::string name(words[0]);
  std::string processors;
  if (const auto dash = name.rfind('-'); dash != std::string::npos && parse_integer(name.substr(dash + 1)).ok()) {
    processors = name.substr(dash + 1);
    name.resize(dash);
  }
  Run& run = add_run(session, name, "cpu");
  run.timing.method = "go test";
  if (!processors.empty()) WM_TRY(set_param(run, "procs", param_value(processors)));
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    const auto value = parse_number(words[i]);
    if (!value.ok()) break;
    WM_TRY(add_value(run, words[i + 1], *value));
  }
  return {};
}

Result<std::vector<Session>> read_go_bench(const Document& document) {
  Session session = foreign_session("go test");
  ResultLimit limit(document.text);
  Status added;
  std::int64_t failed = 0;
  for_each_line(document.text, [&](std::string_view line) {
    const auto value_of = [&](std::string_view key) {
      return line.starts_with(key) ? clean_text(trim(line.substr(key.size()))) : std::string();
    };
    if (const auto cpu = value_of("cpu:"); !cpu.empty() && session.machine.devices.empty()) {
      set_processor(session, cpu, 0, 0);
    }
    if (const auto os = value_of("goos:"); !os.empty()) session.machine.os = os;
    if (line.starts_with("--- FAIL")) ++failed;
    const auto words = profile::words_of(line);
    if (!is_result(words) || !added.ok()) return;
    added = add_line(words, session);
    if (added.ok()) added = limit.add(session.runs.back());
  });
  if (!added.ok()) return added.error();
  if (failed > 0)
    session.remarks.push_back(std::to_string(failed) + " benchmarks failed (--- FAIL) and have no result");
  merge_repeats(session);
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kGoBench{"go-bench", "what go test -bench prints", detect_go_bench, read_go_bench};

}  // namespace warpmark::exchange
