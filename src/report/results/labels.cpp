#include "report/results/labels.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "model/names.h"
#include "report/draw/format.h"

namespace warpmark::report {
namespace {

/// Texts that say nothing without the name of their parameter, numbers among them.
bool needs_name(const std::string& value) {
  const bool number = value.find_first_not_of("0123456789.+-") == std::string::npos;
  return number || value == "yes" || value == "no" || value == "auto" || value == "none" || value == "true" ||
         value == "false" || value == "default";
}

/// The size of the work and its data type: a rate without them says little, even where all runs share them.
bool is_always_named(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames{"dtype", "size", "m", "n", "k", "seq"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

constexpr std::size_t kManyParameters = 12;

/// Of work with very many parameters those that ask for nothing are left out where all runs share them.
bool asks_for_nothing(std::string_view name, std::string_view text) {
  constexpr std::array<std::string_view, 5> kNoValue{"", "no", "auto", "0", "-1"};
  if (name == "optimizer" && text == "default") return true;  // compile=default compiles
  if ((name == "accumulate" || name == "ranks") && text == "1") return true;
  if (name == "worker" && text == "python") return true;
  return name == "python" || name == "peak" || name == "epochs" ||
         std::find(kNoValue.begin(), kNoValue.end(), text) != kNoValue.end();
}

std::string item_text(const std::string& names, const ParamValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value); whole != nullptr && names == "size") {
    return format_bytes(static_cast<double>(*whole));
  }
  if (const auto* text = std::get_if<std::string>(&value); text != nullptr && !needs_name(*text)) return *text;
  return names + "=" + to_text(value);
}

}  // namespace

RunLabels::RunLabels(const Session& session) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> values;
  std::set<std::string> devices;
  for (const auto& run : session.runs) {
    devices.insert(run.device);
    for (const auto& [name, value] : run.params.items()) values[run.workload][name].insert(to_text(value));
  }
  several_devices_ = devices.size() > 1;
  for (const auto& [workload, params] : values) {
    auto& names = shown_[workload];
    for (const auto& [name, texts] : params) {
      if (texts.size() > 1) names.insert(name);
    }
    const bool one_set = names.empty();
    for (const auto& [name, texts] : params) {
      if (params.size() > kManyParameters && asks_for_nothing(name, *texts.begin()) && texts.size() == 1) continue;
      if (one_set || is_always_named(name)) names.insert(name);
    }
  }
}

std::string RunLabels::params(const Run& run, std::string_view without) const {
  const auto shown = shown_.find(run.workload);
  if (shown == shown_.end()) return {};
  std::vector<std::pair<std::string, ParamValue>> items;
  for (const auto& [name, value] : run.params.items()) {
    if (name == without || !shown->second.contains(name)) continue;
    // Neighbours with the same whole number are named together: m=n=k=1024.
    const bool whole = std::holds_alternative<std::int64_t>(value) && name != "size";
    if (whole && !items.empty() && items.back().first != "size" && items.back().second == value) {
      items.back().first += "=" + name;
    } else {
      items.emplace_back(name, value);
    }
  }
  std::string text;
  for (const auto& [names, value] : items) text += (text.empty() ? "" : " ") + item_text(names, value);
  return text;
}

std::string RunLabels::of(const Run& run) const {
  const auto text = params(run);
  return text.empty() ? run.workload : run.workload + " " + text;
}

std::string RunLabels::plain(const Run& run) const {
  if (run.workload == "command") return params(run);
  return of(run) + (run.mode == Mode::hot ? "" : std::string(" ") + name_of(run.mode)) +
         (several_devices_ ? " on " + run.device : "");
}

std::string RunLabels::full(const Run& run) const { return run.workload + " " + within_workload(run); }

std::string RunLabels::within_workload(const Run& run) const {
  const auto text = params(run);
  return text + (text.empty() ? "" : " ") + name_of(run.mode) + (several_devices_ ? " on " + run.device : "");
}

std::string case_name(const Run& run) {
  for (const auto& [name, text] : run.notes) {
    if (name == kNameNote) return text;
  }
  std::string name = run.workload;
  for (const auto& [key, value] : run.params.items()) name += "/" + key + ":" + to_text(value);
  return name + "/" + name_of(run.mode) + "/" + run.device;
}

}  // namespace warpmark::report
