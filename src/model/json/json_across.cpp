#include <algorithm>
#include <array>

#include "base/json.h"
#include "model/across.h"
#include "model/json/json.h"
#include "model/json/json_fields.h"
#include "model/names.h"

namespace warpmark {
namespace {

Json value_json(const NodeValue& value) {
  Json json;
  json["unit"] = value.unit;
  json["state"] = name_of(value.state);
  put_optional(json, "value", value.value);
  put_optional(json, "slowdown", value.slowdown);
  put_optional(json, "p", value.p);
  put_optional(json, "adjusted_p", value.adjusted_p);
  put_text(json, "reason", value.reason);
  return json;
}

Json metric_json(const AcrossMetric& metric) {
  Json json;
  json["what"] = metric.what;
  json["device_name"] = metric.device_name;
  json["metric"] = metric.metric;
  json["unit"] = metric.unit;
  json["better"] = name_of(metric.better);
  put_optional(json, "median", metric.median);
  json["spread"] = finite_number(metric.spread);
  put_optional(json, "detectable", metric.detectable);
  json["values"] = Json::array();
  for (const auto& value : metric.values) json["values"].push_back(value_json(value));
  return json;
}

}  // namespace

const char* name_of(NodeState state) {
  switch (state) {
    case NodeState::normal: return "normal";
    case NodeState::slow: return "slow";
    case NodeState::undecided: return "undecided";
    case NodeState::unreliable: return "unreliable";
    case NodeState::failed: return "failed";
    case NodeState::missing: return "missing";
  }
  return "";
}

NodeState overall(const Across& across) {
  constexpr std::array kGravest{NodeState::failed, NodeState::slow, NodeState::undecided, NodeState::missing,
                                NodeState::unreliable};
  for (const auto state : kGravest) {
    if (std::any_of(across.units.begin(), across.units.end(), [&](const auto& unit) { return unit.state == state; })) {
      return state;
    }
  }
  return NodeState::normal;
}

Json to_json(const Across& across) {
  Json json;
  json["schema"] = kAcrossSchema;
  json["result"] = name_of(overall(across));
  json["started"] = across.started;
  put_text(json, "command", across.command);
  json["effect"] = finite_number(across.effect);
  json["alpha"] = finite_number(across.alpha);
  json["units"] = Json::array();
  for (const auto& unit : across.units) {
    json["units"].push_back(
        {{"node", unit.node}, {"device", unit.device}, {"file", unit.file}, {"state", name_of(unit.state)}});
  }
  json["metrics"] = Json::array();
  for (const auto& metric : across.metrics) json["metrics"].push_back(metric_json(metric));
  json["differences"] = Json::array();
  for (const auto& item : across.differences) {
    json["differences"].push_back(
        {{"node", item.node}, {"fact", item.fact}, {"value", item.value}, {"most", item.most}});
  }
  json["build"] = to_json(across.build);
  return json;
}

}  // namespace warpmark
