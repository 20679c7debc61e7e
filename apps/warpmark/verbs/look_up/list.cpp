#include <fmt/format.h>

#include <array>
#include <ostream>

#include "analyze/rules/rules.h"
#include "device/datasheet.h"
#include "device/device.h"
#include "exchange/import.h"
#include "model/fields/names.h"
#include "model/transformer/transformer.h"
#include "profile/catalog.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "report/formats/catalog.h"
#include "report/results/metric_list.h"
#include "validate/accept/criteria.h"
#include "warpmark/command.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"
#include "workloads/catalog.h"
#include "workloads/suite.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kListOptions[] = {
    {"--ids", "", "ids only, one a line"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or your own file)", of("runs")},
    {"--json", "[FILE]", "write the list as JSON (warpmark.table/1)"},
};

/// One kind of thing that can be listed: a table whose first column is the id.
struct Kind {
  const char* id;
  Result<Table> (*table)(Context& context, const ParsedOptions& options);
};

Result<Table> workloads_table(Context&, const ParsedOptions&) {
  Table table{{{"workload"}, {"what it measures"}, {"parameters (defaults)"}}, {}};
  for (const auto* workload : workloads::catalog()) {
    std::string params;
    for (const auto& spec : workload->params) {
      params += fmt::format("{}{}={}", params.empty() ? "" : " ", spec.name, spec.default_text);
    }
    table.rows.push_back({{workload->id}, {workload->summary}, {params, Tone::quiet}});
  }
  return table;
}

Result<Table> suites_table(Context&, const ParsedOptions&) {
  Table table{{{"suite"}, {"what it is"}, {"budget", Align::right}, {"rounds", Align::right}}, {}};
  for (const auto& name : workloads::built_in_suite_names()) {
    WM_ASSIGN(const auto suite, workloads::load_suite(name));
    table.rows.push_back({{name},
                          {suite.summary},
                          {suite.budget_s > 0 ? report::format_duration(suite.budget_s) : "none"},
                          {std::to_string(suite.rounds)}});
  }
  return table;
}

Result<Table> devices_table(Context&, const ParsedOptions&) {
  Table table{
      {{"device"}, {"name"}, {"units", Align::right}, {"memory", Align::right}, {"cache", Align::right}, {"status"}},
      {}};
  for (const auto* backend : device::backends()) {
    const auto support = backend->available();
    if (!support.available) {
      table.rows.push_back({{backend->id}, {backend->summary}, {}, {}, {}, {support.reason, Tone::warning}});
      continue;
    }
    WM_ASSIGN(const auto devices, backend->devices());
    for (const auto& info : devices) {
      table.rows.push_back({{info.id},
                            {info.name},
                            {std::to_string(info.compute_units)},
                            {report::format_bytes(static_cast<double>(info.memory_bytes))},
                            {report::format_bytes(static_cast<double>(info.last_level_cache_bytes))},
                            {"available", Tone::good}});
    }
  }
  return table;
}

Result<Table> metrics_table(Context&, const ParsedOptions&) {
  Table table{{{"metric"}, {"unit"}, {"better"}, {"meaning"}}, {}};
  for (const auto& metric : report::metric_list()) {
    table.rows.push_back({{metric.id}, {metric.unit}, {metric.better}, {metric.meaning}});
  }
  return table;
}

Result<Table> reporters_table(Context&, const ParsedOptions&) {
  Table table{{{"format"}, {"what it is"}}, {}};
  for (const auto* reporter : report::reporters()) table.rows.push_back({{reporter->id}, {reporter->summary}});
  for (const auto* writer : report::session_writers()) table.rows.push_back({{writer->id}, {writer->summary}});
  return table;
}

Result<Table> formats_table(Context&, const ParsedOptions&) {
  Table table{{{"format"}, {"import"}, {"export"}, {"what it is"}}, {}};
  for (const auto* format : exchange::formats()) {
    table.rows.push_back({{format->id},
                          {format->read == nullptr ? "no" : "yes"},
                          {format->write == nullptr ? "no" : "yes"},
                          {format->summary}});
  }
  return table;
}

constexpr auto kNeedTexts =
    in_order(analyze::Need::counters, "a timeline", "several ranks", "ncu metrics", "GPU counters");
const char* needs_text(analyze::Need need) { return name_in(kNeedTexts, static_cast<std::int64_t>(need)); }

Result<Table> rules_table(Context&, const ParsedOptions&) {
  Table table{{{"rule"}, {"what it asks"}, {"needs"}}, {}};
  for (const auto* rule : analyze::rules()) {
    table.rows.push_back({{rule->id}, {rule->question}, {needs_text(rule->needs), Tone::quiet}});
  }
  return table;
}

Result<Table> readers_table(Context&, const ParsedOptions&) {
  Table table{{{"format"}, {"what is read"}}, {}};
  for (const auto* reader : profile::readers()) table.rows.push_back({{reader->id}, {reader->summary}});
  return table;
}

Result<Table> writers_table(Context&, const ParsedOptions&) {
  Table table{{{"format"}, {"what convert writes"}}, {}};
  for (const auto* writer : profile::writers()) table.rows.push_back({{writer->id}, {writer->summary}});
  return table;
}

Result<Table> criteria_table(Context&, const ParsedOptions&) {
  Table table{{{"criteria"}, {"what is accepted"}, {"rows", Align::right}}, {}};
  for (const auto& name : validate::built_in_criteria_names()) {
    WM_ASSIGN(const auto file, validate::load_criteria(name));
    WM_ASSIGN(const auto criteria, validate::parse_criteria(file.text, file.name));
    table.rows.push_back({{name}, {criteria.summary}, {std::to_string(criteria.rows.size())}});
  }
  return table;
}

Result<Table> datasheets_table(Context&, const ParsedOptions&) {
  Table table{{{"datasheet"}, {"GPU"}, {"memory", Align::right}, {"bf16", Align::right}, {"power", Align::right}}, {}};
  for (const auto& sheet : device::built_in_datasheets()) {
    const auto rate = sheet.peak_rate.find("bf16");
    table.rows.push_back({{sheet.id},
                          {sheet.name},
                          {report::format_quantity(sheet.memory_bandwidth, "B/s")},
                          {rate == sheet.peak_rate.end() ? "" : report::format_quantity(rate->second, "FLOP/s")},
                          {report::format_quantity(sheet.power_w, "W")}});
  }
  return table;
}

Result<Table> models_table(Context&, const ParsedOptions&) {
  Table table{{{"model"}, {"parameters", Align::right}, {"layers", Align::right}, {"where its sizes are published"}},
              {}};
  for (const auto& model : known_transformers()) {
    const double millions = parameters_of(model).total() * 1e-6;
    table.rows.push_back(
        {{model.name},
         {millions >= 1000 ? fmt::format("{:.3g} B", millions / 1000) : fmt::format("{:.3g} M", millions)},
         {fmt::format("{}", model.layers)},
         {model.source, Tone::quiet}});
  }
  return table;
}

Result<Table> facts_table(Context&, const ParsedOptions&) {
  Table table{{{"fact"}, {"unit"}, {"of"}, {"what it is"}}, {}};
  for (const auto& kind : validate::fact_kinds()) {
    const char* unit = kind.type == validate::FactType::number  ? kind.unit
                       : kind.type == validate::FactType::state ? "word"
                                                                : "version";
    table.rows.push_back({{kind.id}, {unit}, {kind.of_gpu ? "GPU" : "host"}, {kind.meaning}});
  }
  table.rows.push_back({{"doctor.CHECK"}, {"word"}, {"host"}, {"state of a check of `warpmark doctor --json`"}});
  return table;
}

Result<Table> runs_table(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto store, open_to_read(context, options));
  WM_ASSIGN(const auto sessions, store->sessions({}));
  Table table{{{"session"}, {"started"}, {"command"}}, {}};
  for (const auto& session : sessions) table.rows.push_back({{session.id}, {session.started}, {session.command}});
  return table;
}

Result<Table> verbs_table(Context&, const ParsedOptions&) {
  Table table{{{"verb"}, {"what it does"}}, {}};
  for (const Command* command : commands()) table.rows.push_back({{command->id}, {command->summary}});
  return table;
}

constexpr std::array kKinds{Kind{"workloads", workloads_table},
                            Kind{"suites", suites_table},
                            Kind{"devices", devices_table},
                            Kind{"metrics", metrics_table},
                            Kind{"reporters", reporters_table},
                            Kind{"formats", formats_table},
                            Kind{"rules", rules_table},
                            Kind{"readers", readers_table},
                            Kind{"writers", writers_table},
                            Kind{"criteria", criteria_table},
                            Kind{"datasheets", datasheets_table},
                            Kind{"facts", facts_table},
                            Kind{"models", models_table},
                            Kind{"runs", runs_table},
                            Kind{"verbs", verbs_table}};

Result<int> run_list(Context& context, const ParsedOptions& options) {
  const std::string wanted = options.positionals().empty() ? "workloads" : options.positionals()[0];
  std::vector<std::string> ids;
  for (const auto& kind : kKinds) {
    ids.emplace_back(kind.id);
    if (wanted != kind.id) continue;
    WM_ASSIGN(const auto table, kind.table(context, options));
    if (options.has("--ids")) {
      for (const auto& row : table.rows) context.out << row[0].text << '\n';
    } else {
      WM_TRY(show_table(context, options, kind.id, table));
    }
    return kSuccess;
  }
  const auto meant = nearest(wanted, ids);
  return usage_error("there is no list of '" + wanted + "'",
                     (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "lists: " + join(ids, ", "));
}

}  // namespace

extern const Command list_command{
    .id = "list",
    .summary = "list workloads, suites, devices, metrics, rules, formats or runs",
    .details = "Unavailable devices are listed with the reason.",
    .options = kListOptions,
    .positional =
        {"WHAT",
         "workloads (default), suites, devices, metrics, reporters (of results), formats (of other tools), rules, "
         "readers, writers, criteria, datasheets, facts, models, runs or verbs",
         false,
         "workloads suites devices metrics reporters formats rules readers writers criteria datasheets facts "
         "models runs verbs"},
    .examples = "warpmark list\nwarpmark list devices\nwarpmark list rules",
    .run = run_list,
};

}  // namespace warpmark::apps
