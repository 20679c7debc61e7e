#include "report/build/across.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "report/draw/format.h"

namespace warpmark::report {
namespace {

Tone tone_of_state(NodeState state) {
  switch (state) {
    case NodeState::normal: return Tone::good;
    case NodeState::slow:
    case NodeState::failed: return Tone::bad;
    case NodeState::undecided:
    case NodeState::unreliable:
    case NodeState::missing: return Tone::warning;
  }
  return Tone::plain;
}

std::string name_of_unit(const Across& across, std::int64_t unit) {
  const auto& item = across.units[static_cast<std::size_t>(unit)];
  return item.node + " " + item.device;
}

std::string slowdown_text(double slowdown) {
  return slowdown < 0 ? "-" + format_percent(-slowdown) : format_percent(slowdown);
}

/// The metric in which the unit is in this state, and most slowed down.
struct Worst {
  const AcrossMetric* metric = nullptr;
  const NodeValue* value = nullptr;
};

Worst worst_of(const Across& across, std::int64_t unit) {
  const auto state = across.units[static_cast<std::size_t>(unit)].state;
  Worst worst;
  for (const auto& metric : across.metrics) {
    for (const auto& value : metric.values) {
      if (value.unit != unit || value.state != state) continue;
      if (worst.value == nullptr || value.slowdown.value_or(0) > worst.value->slowdown.value_or(0)) {
        worst = {&metric, &value};
      }
    }
  }
  return worst;
}

/// What is to be said of a unit after its name and "is" or "are".
std::string predicate(const Across& across, std::int64_t unit) {
  const auto state = across.units[static_cast<std::size_t>(unit)].state;
  const auto worst = worst_of(across, unit);
  if (worst.value == nullptr) return name_of(state);
  if (state == NodeState::slow) {
    return fmt::format("slow: {} slower than the others in {} (p {})",
                       format_percent(worst.value->slowdown.value_or(0)), worst.metric->what,
                       format_p(worst.value->adjusted_p));
  }
  return fmt::format("{} in {}: {}", name_of(state), worst.metric->what, worst.value->reason);
}

/// One sentence for all of which the same is to be said.
std::vector<std::string> sentences(const Across& across, NodeState state) {
  std::vector<std::pair<std::string, std::vector<std::string>>> said;
  for (std::size_t unit = 0; unit < across.units.size(); ++unit) {
    if (across.units[unit].state != state) continue;
    const auto number = static_cast<std::int64_t>(unit);
    const std::string what = predicate(across, number);
    auto known = std::find_if(said.begin(), said.end(), [&](const auto& item) { return item.first == what; });
    if (known == said.end()) known = said.insert(said.end(), {what, {}});
    known->second.push_back(name_of_unit(across, number));
  }
  std::vector<std::string> result;
  for (const auto& [what, names] : said) {
    result.push_back(join(names, ", ") + (names.size() == 1 ? " is " : " are ") + what + ".");
  }
  return result;
}

Section summary(const Across& across) {
  Section section;
  bool any = false;
  for (const auto state :
       {NodeState::failed, NodeState::slow, NodeState::undecided, NodeState::missing, NodeState::unreliable}) {
    for (auto& sentence : sentences(across, state)) {
      section.blocks.push_back(Paragraph{std::move(sentence), tone_of_state(state)});
      any = true;
    }
  }
  if (!any) {
    section.blocks.push_back(
        Paragraph{fmt::format("No node stands out by {} or more.", format_percent(across.effect)), Tone::good});
  }
  Table table{{{"node"}, {"device"}, {"result"}, {"worst", Align::right}, {"in", Align::left, 1}}, {}};
  for (std::size_t unit = 0; unit < across.units.size(); ++unit) {
    const auto& item = across.units[unit];
    const auto worst = worst_of(across, static_cast<std::int64_t>(unit));
    const bool known = worst.value != nullptr && worst.value->slowdown;
    table.rows.push_back({{item.node},
                          {item.device},
                          {name_of(item.state), tone_of_state(item.state)},
                          {known ? slowdown_text(*worst.value->slowdown) : ""},
                          {worst.metric != nullptr ? worst.metric->what : "", Tone::quiet}});
  }
  section.blocks.push_back(std::move(table));
  return section;
}

Section metrics(const Across& across) {
  Table table{{{"what"},
               {"median", Align::right},
               {"spread", Align::right},
               {"certain from", Align::right},
               {"slowest", Align::left},
               {"by", Align::right}},
              {}};
  for (const auto& metric : across.metrics) {
    const NodeValue* slowest = nullptr;
    for (const auto& value : metric.values) {
      if (value.slowdown && (slowest == nullptr || *value.slowdown > *slowest->slowdown)) slowest = &value;
    }
    table.rows.push_back({{metric.what},
                          {metric.median ? format_quantity(*metric.median, metric.unit) : "unknown"},
                          {metric.spread > 0 ? format_percent(metric.spread) : "unknown"},
                          {metric.detectable ? format_percent(*metric.detectable) : "never"},
                          {slowest != nullptr ? name_of_unit(across, slowest->unit) : "",
                           slowest != nullptr ? tone_of_state(slowest->state) : Tone::plain},
                          {slowest != nullptr ? slowdown_text(*slowest->slowdown) : ""}});
  }
  Section section{"Workloads", {std::move(table)}, false};
  section.blocks.push_back(Paragraph{
      fmt::format("Spread is how much the devices differ that do not stand out. A slow-down is certain where its p, "
                  "adjusted over all values (Holm), is at most {}; it matters from {} on. The test is one-sided, of "
                  "each value's logarithm against the others, calibrated by simulation for this number of devices.",
                  across.alpha, format_percent(across.effect)),
      Tone::quiet});
  return section;
}

Section details(const Across& across, const AcrossMetric& metric) {
  Table table{{{"node"},
               {"device"},
               {metric.metric, Align::right},
               {"slower by", Align::right},
               {"p", Align::right, 1},
               {"result"},
               {"why", Align::left, 2}},
              {}};
  for (const auto& value : metric.values) {
    const auto& unit = across.units[static_cast<std::size_t>(value.unit)];
    table.rows.push_back({{unit.node},
                          {unit.device},
                          {value.value ? format_quantity(*value.value, metric.unit) : ""},
                          {value.slowdown ? slowdown_text(*value.slowdown) : ""},
                          {format_p(value.adjusted_p)},
                          {name_of(value.state), tone_of_state(value.state)},
                          {value.reason, Tone::quiet}});
  }
  return {metric.what + ", " + metric.device_name, {std::move(table)}, true};
}

}  // namespace

Report build_report(const Across& across) {
  Report report{.title = "Nodes against each other", .subtitle = across.started, .sections = {}};
  report.sections.push_back(summary(across));
  report.sections.push_back(metrics(across));
  if (!across.differences.empty()) {
    Table table{{{"node"}, {"fact"}, {"value"}, {"most have"}}, {}};
    for (const auto& item : across.differences) {
      table.rows.push_back({{item.node}, {item.fact}, {item.value}, {item.most, Tone::quiet}});
    }
    report.sections.push_back({"What differs between the nodes", {std::move(table)}, false});
  }
  for (const auto& metric : across.metrics) report.sections.push_back(details(across, metric));
  return report;
}

}  // namespace warpmark::report
