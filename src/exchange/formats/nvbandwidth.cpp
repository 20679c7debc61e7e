// Output of NVIDIA's nvbandwidth, as text or as JSON (-j): json_output.cpp and output.cpp of
// github.com/NVIDIA/nvbandwidth. A test case prints a matrix; each of its cells is a result. The unit stands in
// brackets behind its description.

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "exchange/import.h"
#include "exchange/quantities.h"
#include "profile/readers/text/line_reader.h"

namespace warpmark::exchange {
namespace {

struct TestCase {
  std::string name, status, description;
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;  ///< label, cells
};

bool detect_nvbandwidth(const Document& document) {
  if (document.json) {
    return document.json->is_object() && document.json->contains("nvbandwidth") &&
           (*document.json)["nvbandwidth"].is_object();
  }
  return document.text.substr(0, 1 << 16).find("nvbandwidth Version") != std::string_view::npos;
}

/// "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)": more is better of a bandwidth, less of a latency.
Quantity quantity_of(const std::string& description, Unit& unit) {
  const auto open = description.rfind('('), close = description.rfind(')');
  if (open != std::string::npos && close != std::string::npos && close > open) {
    unit = unit_of(description.substr(open, close - open + 1));
  }
  return {metric_for(unit.si), unit.si.c_str(), direction_of_unit(unit.si)};
}

Status add_case(const TestCase& test, Session& session, ResultLimit& limit) {
  const bool passed = test.status.empty() || test.status.starts_with("Passed") || test.status.starts_with("Running");
  if (!passed || test.rows.empty()) {
    Run& run = add_run(session, test.name, "cuda");
    run.outcome = test.status.starts_with("Error") ? Outcome::error : Outcome::skipped;
    if (run.outcome == Outcome::error) run.fault = ErrorKind::environment;
    run.reason = test.status.empty() ? "it printed no values" : clean_text(test.status);
    return limit.add(run);
  }
  Unit unit{"B/s", 1e9};
  const Quantity quantity = quantity_of(test.description, unit);
  for (const auto& [label, cells] : test.rows) {
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const auto value = parse_number(cells[column]);
      if (!value.ok()) continue;  // N/A: a device with itself
      Run& run = add_run(session, test.name, "cuda");
      run.timing.method = "nvbandwidth";
      WM_TRY(set_param(run, "row", param_value(label)));
      WM_TRY(set_param(run, "column",
                       param_value(column < test.columns.size() ? test.columns[column] : std::to_string(column))));
      WM_TRY(add_metric(run, quantity, {unit.to_si(*value)}));
      WM_TRY(limit.add(run));
    }
  }
  return {};
}

void add_device(Session& session, const std::string& number, std::string name) {
  if (const auto bracket = name.rfind(" ("); bracket != std::string::npos) name.resize(bracket);
  DeviceInfo device;
  device.id = "cuda:" + clean_text(number);
  device.backend = "cuda";
  device.name = clean_text(trim(name));
  session.machine.devices.push_back(std::move(device));
}

Status read_json(JsonFields& fields, Session& session, ResultLimit& limit) {
  std::string version, driver;
  fields.maybe("version", version);
  fields.maybe("Driver Version", driver);
  session.build.version = "nvbandwidth " + clean_text(version);
  if (!driver.empty()) session.machine.software.emplace_back("driver", clean_text(driver));
  std::vector<std::string> devices;
  fields.maybe("GPU Device list", devices);
  for (const auto& device : devices) {
    if (const auto colon = device.find(": "); colon != std::string::npos) {
      add_device(session, device.substr(0, colon), device.substr(colon + 2));
    }
  }
  Status added;
  fields.each("testcases", [&](JsonFields& one) {
    TestCase test;
    one.required("name", test.name);
    one.maybe("status", test.status);
    one.maybe("bandwidth_description", test.description);
    std::string error;
    one.maybe("error", error);
    if (!error.empty()) test.status = "Error: " + error;
    if (one.has("bandwidth_matrix") && one.json()["bandwidth_matrix"].is_array()) {
      for (const Json& row : one.json()["bandwidth_matrix"]) {
        auto& cells = test.rows.emplace_back(std::to_string(test.rows.size()), std::vector<std::string>{}).second;
        for (const Json& cell : row.is_array() ? row : Json::array()) {
          cells.push_back(cell.is_string() ? cell.get<std::string>() : cell.dump());
        }
      }
    }
    if (added.ok()) added = add_case(test, session, limit);
  });
  return added;
}

/// Line by line; a test case begins with "Running NAME." and its matrix with a line of column numbers.
class TextReader {
 public:
  TextReader(Session& session, ResultLimit& limit) : session_(session), limit_(limit) {}

  Status line(std::string_view line) {
    const auto text = trim(line);
    const auto after = [&](std::string_view start) {
      return text.starts_with(start) ? std::string(trim(text.substr(start.size()))) : std::string();
    };
    if (const auto version = after("nvbandwidth Version:"); !version.empty()) {
      session_.build.version = "nvbandwidth " + clean_text(version);
    } else if (const auto driver = after("Driver Version:"); !driver.empty()) {
      session_.machine.software.emplace_back("driver", clean_text(driver));
    } else if (const auto device = after("Device "); !device.empty() && device.find(": ") != std::string::npos) {
      add_device(session_, device.substr(0, device.find(':')), device.substr(device.find(':') + 2));
    } else if (auto name = after("Running "); !name.empty()) {
      WM_TRY(finish());
      while (name.ends_with('.')) name.pop_back();
      test_ = {.name = clean_text(name), .status = {}, .description = {}, .columns = {}, .rows = {}};
      open_ = true;
    } else if (text.starts_with("Waived") || text.starts_with("ERROR") || text.starts_with("Error")) {
      test_.status = text.starts_with("Waived") ? std::string(text) : "Error: " + std::string(text);
    } else if (open_ &&
               (text.find("(row)") != std::string_view::npos || text.find("bandwidth (") != std::string_view::npos)) {
      test_.description = clean_text(text);
    } else if (open_ && !test_.description.empty()) {
      matrix(text);
    }
    return {};
  }

  Status finish() {
    if (open_) WM_TRY(add_case(test_, session_, limit_));
    open_ = false;
    return {};
  }

 private:
  void matrix(std::string_view text) {
    const auto words = profile::words_of(text);
    if (words.empty() || text.starts_with("SUM")) return;
    const auto is_whole = [](std::string_view word) { return parse_integer(word).ok(); };
    if (test_.columns.empty() && std::all_of(words.begin(), words.end(), is_whole)) {
      test_.columns.assign(words.begin(), words.end());
    } else if (!test_.columns.empty() && words.size() == test_.columns.size() + 1) {
      test_.rows.emplace_back(words[0], std::vector<std::string>(words.begin() + 1, words.end()));
    }
  }

  Session& session_;
  ResultLimit& limit_;
  TestCase test_;
  bool open_ = false;
};

Result<std::vector<Session>> read_nvbandwidth(const Document& document) {
  if (!detect_nvbandwidth(document)) return data_error("it is no output of nvbandwidth");
  ResultLimit limit(document.text);
  Session session = foreign_session("nvbandwidth");
  if (document.json) {
    std::optional<Error> error;
    JsonFields fields((*document.json)["nvbandwidth"], "nvbandwidth", error);
    if (!error) WM_TRY(read_json(fields, session, limit));
    if (error) return *error;
    return std::vector<Session>{std::move(session)};
  }
  TextReader reader(session, limit);
  for (const auto& line : split(document.text, '\n')) WM_TRY(reader.line(line));
  WM_TRY(reader.finish());
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kNvbandwidth{"nvbandwidth", "output of nvbandwidth, text or JSON", detect_nvbandwidth,
                                 read_nvbandwidth};

}  // namespace warpmark::exchange
