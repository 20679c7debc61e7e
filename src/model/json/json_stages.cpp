// Stages and sizes as JSON. Written only.
#include "base/check.h"
#include "base/json.h"
#include "model/json/json_parts.h"
#include "model/stages.h"

namespace warpmark {
namespace {

Json stage_json(const Stage& stage) {
  Json json = Json::object();
  put_text(json, "name", stage.name);
  json["seconds"] = finite_number(stage.seconds);
  put_interval(json, stage.interval);
  json["share"] = finite_number(stage.share);
  if (stage.items > 0) {
    json["items"] = finite_number(stage.items);
    json["items_per_second"] = finite_number(stage.items / stage.seconds);
    json["seconds_per_item"] = finite_number(stage.seconds / stage.items);
  }
  json["gain_if_twice_as_fast"] = finite_number(stage.gain_doubled);
  if (stage.limit != LimitState::none) {
    json["limit_s"] = finite_number(stage.limit_s);
    json["limit"] = name_of(stage.limit);
  }
  return json;
}

}  // namespace

const char* name_of(LimitState state) {
  switch (state) {
    case LimitState::none: return "none";
    case LimitState::met: return "met";
    case LimitState::missed: return "missed";
    case LimitState::undecided: return "undecided";
  }
  WM_CHECK(false);
  return "";
}

Json to_json(const std::vector<StagedRun>& runs) {
  Json list = Json::array();
  for (const auto& run : runs) {
    Json json{{"run", run.run}, {"all", stage_json(run.all)}, {"outside", finite_number(run.outside)}};
    json["stages"] = Json::array();
    for (const auto& stage : run.stages) json["stages"].push_back(stage_json(stage));
    list.push_back(std::move(json));
  }
  return list;
}

Json to_json(const std::vector<SizeFit>& fits) {
  Json list = Json::array();
  for (const auto& fit : fits) {
    Json json{{"parameter", fit.parameter},
              {"fixed_s", finite_number(fit.fixed_s)},
              {"fixed", interval_json(fit.fixed_interval)},
              {"per_item_s", finite_number(fit.per_item_s)},
              {"per_item", interval_json(fit.per_item_interval)},
              {"straight", fit.straight}};
    json["sizes"] = Json::array();
    for (const auto& size : fit.sizes) {
      json["sizes"].push_back({{"run", size.run},
                               {"items", finite_number(size.items)},
                               {"seconds", finite_number(size.seconds)},
                               {"fixed_share", finite_number(size.fixed_share)},
                               {"too_small", size.too_small}});
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace warpmark
