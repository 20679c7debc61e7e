// What `go test -bench` prints (golang.org/design/14313-benchmark-format): a name, the number of iterations, then
// values with their units. A benchmark that is printed again (-count) is a further round. Of `go test -json`
// (cmd/test2json) the output of each package is read.
#include <map>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "exchange/import.h"
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

/// Pieces of a line are events of their own, between which those of other packages may stand.
std::optional<std::string> output_of_events(const Document& document) {
  if (!document.json || !document.json->is_array()) return std::nullopt;
  std::map<std::string, std::string> by_package;
  for (const Json& event : *document.json) {
    if (!event.is_object() || !event.value("Action", Json()).is_string()) return std::nullopt;
    const Json output = event.value("Output", Json()), package = event.value("Package", Json());
    if (output.is_string() && package.is_string()) by_package[package.get<std::string>()] += output.get<std::string>();
  }
  std::string text;
  for (const auto& [package, output] : by_package) text += output + '\n';
  return text;
}

bool detect_go_bench(const Document& document) {
  if (const auto output = output_of_events(document)) {
    return detect_go_bench({.name = {}, .text = *output, .json = {}, .not_json = {}, .collective = {}, .folder = {}});
  }
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

/// Line by line. The package is a parameter: two packages may have benchmarks of one name.
class Reader {
 public:
  Reader(Session& session, std::string_view text) : session_(session), limit_(text) {}

  Status line(std::string_view line) {
    if (const auto cpu = value_of(line, "cpu:"); !cpu.empty() && session_.machine.devices.empty()) {
      set_processor(session_, cpu, 0, 0);
    }
    if (const auto os = value_of(line, "goos:"); !os.empty()) session_.machine.os = os;
    if (const auto package = value_of(line, "pkg:"); !package.empty()) package_ = package;
    if (line.starts_with("--- FAIL")) ++failed_;
    auto words = profile::words_of(line);
    if (words.size() >= 2 && (words[0] == "ok" || words[0] == "FAIL")) return end_package(words[1]);
    if (!words.empty() && words[0].starts_with("Benchmark")) {
      name_ = words[0];
    } else if (is_values(words)) {
      words.insert(words.begin(), name_);
    }
    return is_result(words) ? add(words) : Status();
  }

  void finish() {
    if (failed_ > 0) {
      session_.remarks.push_back(std::to_string(failed_) + " benchmarks failed (--- FAIL) and have no result");
    }
    merge_repeats(session_);
  }

 private:
  static std::string value_of(std::string_view line, std::string_view key) {
    return line.starts_with(key) ? clean_text(trim(line.substr(key.size()))) : std::string();
  }

  /// What a benchmark prints stands between its name and its values: "171 6722296 ns/op" then begins a line.
  [[nodiscard]] bool is_values(const Words& words) const {
    return !name_.empty() && words.size() >= 3 && parse_integer(words[0]).ok() && parse_number(words[1]).ok() &&
           words[2].ends_with("/op");
  }

  Status add(const Words& words) {
    std::string name(words[0]), processors;
    if (const auto dash = name.rfind('-'); dash != std::string::npos && parse_integer(name.substr(dash + 1)).ok()) {
      processors = name.substr(dash + 1);
      name.resize(dash);
    }
    Run& run = add_run(session_, name, "cpu");
    run.timing.method = "go test";
    if (!package_.empty()) WM_TRY(set_param(run, "pkg", package_));
    if (!processors.empty()) WM_TRY(set_param(run, "procs", param_value(processors)));
    for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
      const auto value = parse_number(words[i]);
      if (!value.ok()) break;
      WM_TRY(add_value(run, words[i + 1], *value));
    }
    name_ = {};
    return limit_.add(run);
  }

  /// "ok  encoding/base32  3.593s": old versions name a package only there.
  Status end_package(std::string_view package) {
    for (; begun_ < session_.runs.size(); ++begun_) {
      Run& run = session_.runs[begun_];
      if (!run.params.has("pkg")) WM_TRY(set_param(run, "pkg", clean_text(package)));
    }
    package_.clear();
    return {};
  }

  Session& session_;
  ResultLimit limit_;
  std::string package_;
  std::string_view name_;  ///< of a line without values
  std::size_t begun_ = 0;  ///< the first run of the package
  std::int64_t failed_ = 0;
};

Result<std::vector<Session>> read_go_bench(const Document& document) {
  Session session = foreign_session("go test");
  const auto events = output_of_events(document);
  const std::string_view text = events ? *events : document.text;
  Reader reader(session, text);
  Status added;
  for_each_line(text, [&](std::string_view line) {
    if (added.ok()) added = reader.line(line);
  });
  if (!added.ok()) return added.error();
  reader.finish();
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kGoBench{"go-bench", "what go test -bench prints", detect_go_bench, read_go_bench, nullptr,
                             false,      "go test -bench=. -count=10"};

}  // namespace warpmark::exchange
