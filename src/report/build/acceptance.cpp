#include "report/build/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/draw/format.h"

namespace warpmark::report {
namespace {

Tone tone_of_row(RowState state) {
  switch (state) {
    case RowState::pass: return Tone::good;
    case RowState::fail: return Tone::bad;
    case RowState::undecided:
    case RowState::unreliable:
    case RowState::not_measurable: return Tone::warning;
  }
  return Tone::plain;
}

std::size_t count(const Acceptance& acceptance, RowState state) {
  return static_cast<std::size_t>(std::count_if(acceptance.rows.begin(), acceptance.rows.end(),
                                                [&](const auto& row) { return row.state == state; }));
}

std::size_t optional_rows(const Acceptance& acceptance) {
  return static_cast<std::size_t>(
      std::count_if(acceptance.rows.begin(), acceptance.rows.end(), [](const auto& row) { return !row.required; }));
}

/// Of the rows that decide.
std::size_t count_required(const Acceptance& acceptance, RowState state) {
  return static_cast<std::size_t>(std::count_if(acceptance.rows.begin(), acceptance.rows.end(),
                                                [&](const auto& row) { return row.required && row.state == state; }));
}

std::string number_text(double value, const std::string& unit) {
  if (unit == "ratio") return format_percent(value);
  if (unit == "1" || unit.empty()) return fmt::format("{:.10g}", value);
  if (unit == "W" || unit == "degC") return fmt::format("{:.4g} {}", value, unit);
  return format_quantity(value, unit);
}

std::string value_text(const AcceptanceRow& row) {
  if (!row.value_text.empty()) return row.value_text;
  return row.value ? number_text(*row.value, row.unit) : "";
}

std::string limit_text(const AcceptanceRow& row) {
  std::string text = row.limit_text;
  if (!row.limits.empty()) {
    text = number_text(row.limits.front(), row.unit);
    if (row.limits.size() > 1) text += " .. " + number_text(row.limits.back(), row.unit);
  }
  return row.comparator == Comparator::between ? text : std::string(name_of(row.comparator)) + " " + text;
}

/// What is behind the value: "±0.41 %" of its interval; nothing of a fact, which is exact.
std::string precision_text(const AcceptanceRow& row) {
  if (!row.interval || !row.value || row.interval->confidence >= 1) return "";
  return format_half_width(*row.value, *row.interval);
}

std::string device_text(const AcceptanceRow& row) { return row.device.empty() ? "host" : row.device; }

Section summary(const Acceptance& acceptance) {
  Section section;
  const auto state = overall(acceptance);
  std::string text = result_sentence(acceptance) + ".";
  const auto row =
      std::ranges::find_if(acceptance.rows, [&](const auto& each) { return each.required && each.state == state; });
  if (state != RowState::pass && row != acceptance.rows.end()) {
    const auto value = value_text(*row);
    const bool reason = value.empty() || state == RowState::unreliable;  // the value is not what decides
    text += fmt::format(" {}: {}.", row->title, reason ? row->reason : value + ", limit " + limit_text(*row));
  }
  section.blocks.push_back(Paragraph{text, tone_of_row(state)});
  if (!acceptance.summary.empty()) section.blocks.push_back(Paragraph{acceptance.summary, Tone::quiet});
  Table counts{{{"result"}, {"criteria", Align::right}}, {}};
  for (const auto each :
       {RowState::pass, RowState::fail, RowState::unreliable, RowState::undecided, RowState::not_measurable}) {
    const auto number = count(acceptance, each);
    if (number > 0) counts.rows.push_back({{name_of(each), tone_of_row(each)}, {std::to_string(number)}});
  }
  section.blocks.push_back(std::move(counts));
  return section;
}

Section identity(const Acceptance& acceptance) {
  const Machine& machine = acceptance.machine;
  Table facts{{{""}, {""}}, {}};
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) facts.rows.push_back({{name}, {text}});
  };
  add("machine", machine.hostname);
  add("fingerprint", machine.fingerprint);
  add("processor", machine.cpu);
  for (const auto& device : machine.devices) {
    if (device.backend == "cpu") continue;
    add("device", device.id + ": " + device.name + (device.uuid.empty() ? "" : ", " + device.uuid));
  }
  add("system", machine.os + (machine.kernel.empty() ? "" : ", Linux " + machine.kernel));
  add("virtualization", machine.virtualization);
  for (const auto& [name, version] : machine.software) add(name.c_str(), version);
  add("warpmark", acceptance.build.version +
                      (acceptance.build.git_sha.empty() ? "" : ", revision " + acceptance.build.git_sha) +
                      (acceptance.build.git_dirty ? " with changes" : ""));
  add("results", acceptance.session.empty() ? "none" : acceptance.session + " of " + acceptance.session_started);
  add("criteria", acceptance.criteria_file);
  add("SHA-256", acceptance.criteria_sha256);
  add("judged", acceptance.started);
  return {"What was tested", {std::move(facts)}, false};
}

/// Why rows are no pass; those with one reason together.
std::vector<std::pair<std::string, Tone>> reasons(const Acceptance& acceptance) {
  std::vector<std::pair<const AcceptanceRow*, std::string>> groups;
  for (const auto& row : acceptance.rows) {
    if (row.state == RowState::pass || row.reason.empty()) continue;
    const std::string who = row.title + " (" + device_text(row) + ")";
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return group.first->state == row.state && group.first->reason == row.reason;
    });
    if (same == groups.end()) {
      groups.emplace_back(&row, who);
    } else {
      same->second += "; " + who;
    }
  }
  std::vector<std::pair<std::string, Tone>> texts;
  for (const auto& [row, who] : groups) {
    texts.emplace_back(fmt::format("{}, {}: {}.", capitalized(name_of(row->state)), row->reason, who),
                       tone_of_row(row->state));
  }
  return texts;
}

Section criteria(const Acceptance& acceptance) {
  Table table{{{"result"},
               {"criterion"},
               {"device", Align::left, 2},
               {"value", Align::right},
               {"95 %", Align::right, 1},
               {"limit", Align::right}},
              {}};
  for (const auto& row : acceptance.rows) {
    table.rows.push_back(
        {{name_of(row.state), row.required || row.state != RowState::fail ? tone_of_row(row.state) : Tone::warning},
         {row.title + (row.required ? "" : " (optional)")},
         {device_text(row), Tone::quiet},
         {value_text(row)},
         {precision_text(row), Tone::quiet},
         {limit_text(row)}});
  }
  Section section{"Criteria", {std::move(table)}, false};
  for (auto& [reason, tone] : reasons(acceptance)) section.blocks.push_back(Paragraph{std::move(reason), tone});
  return section;
}

Section method(const Acceptance& acceptance) {
  Section section{"How it was measured", {}, true};
  section.blocks.push_back(Paragraph{
      "A measured value passes or fails only where its whole 95 % interval lies on one side of the limit; the "
      "interval covers all samples and the differences between rounds. Results that were disturbed are no pass.",
      Tone::quiet});
  Table table{{{"criterion"}, {"what"}, {"device"}, {"limit is"}}, {}};
  for (const auto& row : acceptance.rows) {
    table.rows.push_back({{row.title},
                          {row.subject + (row.metric.empty() ? "" : ": " + row.metric)},
                          {device_text(row)},
                          {row.limit_source.empty() ? "absolute" : row.limit_source}});
  }
  section.blocks.push_back(std::move(table));
  std::string commands;
  for (const auto& row : acceptance.rows) {
    if (row.repro.empty() || commands.find(row.repro) != std::string::npos) continue;
    commands += (commands.empty() ? "" : "\n") + row.repro;
  }
  if (!commands.empty()) section.blocks.push_back(Paragraph{commands, Tone::plain, true});
  return section;
}

Section sources(const Acceptance& acceptance) {
  Section section{"Datasheets", {}, false};
  for (const auto& sheet : acceptance.datasheets) {
    for (const auto& source : sheet.sources) {
      section.blocks.push_back(Paragraph{sheet.id + " (" + sheet.name + "): " + source, Tone::quiet});
    }
  }
  return section;
}

Section signatures() {
  Table table{{{""}, {"name"}, {"date"}, {"signature"}}, {}};
  const std::string name(20, '_'), date(10, '_');
  table.rows.push_back({{"tested by"}, {name}, {date}, {name}});
  table.rows.push_back({{"accepted by"}, {name}, {date}, {name}});
  return {"Signatures", {std::move(table)}, false};
}

}  // namespace

std::string result_sentence(const Acceptance& acceptance) {
  const std::size_t optional = optional_rows(acceptance), required = acceptance.rows.size() - optional;
  const auto of = [&](RowState state) {  // the optional ones decide nothing
    return fmt::format("{} of {}{} criteria", count_required(acceptance, state), required,
                       optional > 0 ? " required" : "");
  };
  const auto are = [&](RowState state) { return count_required(acceptance, state) == 1 ? " is " : " are "; };
  const auto no_result = [&](RowState state, const char* what) {
    return "NO RESULT: " + of(state) + are(state) + what;
  };
  switch (overall(acceptance)) {
    case RowState::pass: {
      const auto passed = count(acceptance, RowState::pass);
      return passed == acceptance.rows.size()
                 ? "ACCEPTED: " + format_plural(passed, "criterion passed", "criteria passed")
                 : fmt::format("ACCEPTED: all required criteria passed; {} of {} optional ones did not",
                               acceptance.rows.size() - passed, optional_rows(acceptance));
    }
    case RowState::fail: return "NOT ACCEPTED: " + of(RowState::fail) + " failed";
    case RowState::unreliable: return no_result(RowState::unreliable, "unreliable");
    case RowState::undecided: return no_result(RowState::undecided, "undecided");
    case RowState::not_measurable: return no_result(RowState::not_measurable, "not measurable");
  }
  return "";
}

Report build_report(const Acceptance& acceptance) {
  Report report{.title = "Acceptance: " + acceptance.name, .subtitle = acceptance.started, .sections = {}};
  report.sections.push_back(summary(acceptance));
  report.sections.push_back(criteria(acceptance));
  report.sections.push_back(identity(acceptance));
  if (!acceptance.datasheets.empty()) report.sections.push_back(sources(acceptance));
  report.sections.push_back(signatures());
  report.sections.push_back(method(acceptance));
  return report;
}

}  // namespace warpmark::report
