// Results of airspeed velocity (asv): results/<machine>/<commit>-<env>.json, asv/results.py of
// github.com/airspeed-velocity/asv, api_version 1 and 2. The kind of a benchmark, and with it its unit, is in its name.
#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/text.h"
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

bool detect_asv(const Document& document) {
  if (!document.json || !document.json->is_object()) return false;
  const Json& json = *document.json;
  return json.contains("commit_hash") && json.contains("results") && json["results"].is_object();
}

struct Kind {
  std::string_view prefix;
  Quantity quantity;
};
constexpr std::array kKinds{Kind{"timeraw_", kTime}, Kind{"time_", kTime}, Kind{"peakmem_", {"memory", "B"}},
                            Kind{"mem_", {"memory", "B"}}};

Quantity quantity_of(std::string_view name) {
  const auto function = name.substr(name.rfind('.') + 1);
  for (const Kind& kind : kKinds) {
    if (function.starts_with(kind.prefix)) return kind.quantity;
  }
  return {"value", "", described(function).better};  // track_*: its unit is in benchmarks.json
}

/// One benchmark: an array in the order of the columns, an object by their names, or in old files the value itself.
class Entry {
 public:
  Entry(const Json& entry, const std::vector<std::string>& columns) : entry_(entry), columns_(columns) {}
  [[nodiscard]] const Json* column(const char* name) const {
    if (entry_.is_object()) return entry_.contains(name) ? &entry_[name] : nullptr;
    if (!entry_.is_array()) return std::string_view(name) == "result" ? &entry_ : nullptr;
    const auto at = static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), name) - columns_.begin());
    return at < columns_.size() && at < entry_.size() ? &entry_[at] : nullptr;
  }

 private:
  const Json& entry_;
  const std::vector<std::string>& columns_;
};

/// The how-many-th combination of parameters, the last of which changes fastest.
Status set_params(Run& run, const Json* params, std::size_t combination) {
  if (params == nullptr || !params->is_array()) return {};
  for (std::size_t i = params->size(); i-- > 0;) {
    const Json& values = (*params)[i];
    if (!values.is_array() || values.empty()) continue;
    const Json& value = values[combination % values.size()];
    combination /= values.size();
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (text.size() > 1 && text.front() == '\'' && text.back() == '\'') text = text.substr(1, text.size() - 2);
    WM_TRY(set_param(run, "param" + std::to_string(i + 1), param_value(text)));
  }
  return {};
}

Status read_entry(const std::string& name, const Entry& entry, Session& session, ResultLimit& limit) {
  const Json* result = entry.column("result");
  const Json* samples = entry.column("samples");
  if (result == nullptr || result->is_null()) {
    session.remarks.push_back(clean_text(name) + " has no result: it failed or was skipped");
    return {};
  }
  const std::size_t count = result->is_array() ? result->size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Json& value = result->is_array() ? (*result)[i] : *result;
    Run& run = add_run(session, name, "cpu");
    run.timing.method = "asv";
    WM_TRY(set_params(run, entry.column("params"), i));
    std::vector<double> values;
    if (samples != nullptr && samples->is_array() && i < samples->size() && (*samples)[i].is_array()) {
      for (const Json& sample : (*samples)[i]) {
        if (sample.is_number()) values.push_back(sample.get<double>());
      }
    }
    if (values.empty() && value.is_number()) values.push_back(value.get<double>());
    if (values.empty()) {
      run.outcome = Outcome::skipped;
      run.reason = "asv has no result of it";
    }
    WM_TRY(add_metric(run, quantity_of(name), std::move(values)));
    WM_TRY(limit.add(run));
  }
  return {};
}

Result<std::vector<Session>> read_asv(const Document& document) {
  if (!detect_asv(document)) return data_error("it has no 'commit_hash' and 'results'");
  ResultLimit limit(document.text);
  return read_object(*document.json, foreign_session("asv"), [&](JsonFields& fields, Session& session) {
    double date_ms = 0;
    std::string cpu;
    std::vector<std::string> columns;
    fields.required("commit_hash", session.commit);
    fields.maybe("date", date_ms);
    fields.maybe("result_columns", columns);
    fields.object("params", false, [&](JsonFields& params) {
      params.maybe("machine", session.machine.hostname);
      params.maybe("os", session.machine.os);
      params.maybe("cpu", cpu);
    });
    session.commit = clean_text(session.commit);
    session.machine.hostname = clean_text(session.machine.hostname);
    session.machine.os = clean_text(session.machine.os);
    if (!cpu.empty()) set_processor(session, cpu, 0, 0);
    if (date_ms > 0 && date_ms < 1e14) session.started = format_utc(date_ms / 1000);
    for (const auto& [name, entry] : fields.json()["results"].items()) {
      fields.keep(read_entry(name, Entry(entry, columns), session, limit));
    }
  });
}

}  // namespace

extern const Format kAsv{"asv", "a result file of airspeed velocity", detect_asv, read_asv};

}  // namespace warpmark::exchange
