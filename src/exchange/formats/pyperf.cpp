// JSON of pyperf (python -m pyperf ... -o FILE): doc/api.rst of github.com/psf/pyperf, version 1.0. A run is a process
// of its own, and so a round; its warmups are left out as pyperf does.
#include "exchange/import.h"
#include "exchange/quantities.h"

namespace warpmark::exchange {
namespace {

bool detect_pyperf(const Document& document) {
  if (!document.json || !document.json->is_object() || !document.json->contains("benchmarks")) return false;
  const Json& benchmarks = (*document.json)["benchmarks"];
  return benchmarks.is_array() && !benchmarks.empty() && benchmarks[0].is_object() && benchmarks[0].contains("runs") &&
         !document.json->contains("devices");
}

struct Metadata {
  std::string name, unit = "second", host, cpu, date, python;
  void read(JsonFields& fields) {
    fields.maybe("name", name);
    fields.maybe("unit", unit);
    fields.maybe("hostname", host);
    fields.maybe("cpu_model_name", cpu);
    fields.maybe("date", date);
    fields.maybe("python_version", python);
  }
};

Status read_pyperf_benchmark(JsonFields& fields, const Metadata& common, Session& session) {
  Metadata own = common;
  fields.object("metadata", false, [&](JsonFields& metadata) { own.read(metadata); });
  Run& run = add_run(session, own.name.empty() ? "benchmark" : own.name, "cpu");
  keep_name(run);
  run.timing.method = "pyperf";
  std::vector<std::vector<double>> rounds;
  fields.each("runs", [&](JsonFields& one) {
    std::vector<double> values;
    one.maybe("values", values);
    one.object("metadata", false, [&](JsonFields& metadata) {
      if (own.date.empty()) metadata.maybe("date", own.date);
    });
    rounds.push_back(std::move(values));
  });
  if (session.started.empty()) session.started = to_utc(own.date).value_or("");
  const Unit unit = own.unit == "integer" ? Unit{} : unit_of(own.unit);
  const char* id = metric_for(unit.si);
  return add_rounds(run, {id, unit.si.c_str(), direction_of_unit(unit.si)}, rounds);
}

Result<std::vector<Session>> read_pyperf(const Document& document) {
  if (!detect_pyperf(document)) return data_error("it has no 'benchmarks' with 'runs'");
  ResultLimit limit(document.text);
  return read_object(*document.json, foreign_session("pyperf"), [&](JsonFields& fields, Session& session) {
    Metadata common;
    fields.object("metadata", false, [&](JsonFields& metadata) { common.read(metadata); });
    session.machine.hostname = clean_text(common.host);
    session.started = to_utc(common.date).value_or("");
    if (!common.cpu.empty()) set_processor(session, common.cpu, 0, 0);
    if (!common.python.empty()) session.machine.software.emplace_back("python", clean_text(common.python));
    fields.each("benchmarks", [&](JsonFields& benchmark) {
      benchmark.keep(limit.add_after(read_pyperf_benchmark(benchmark, common, session), session));
    });
  });
}

}  // namespace

extern const Format kPyperf{"pyperf", "JSON of pyperf", detect_pyperf, read_pyperf, nullptr, false, "--processes 20"};

}  // namespace warpmark::exchange
