#include "base/json.h"
#include "model/json/json_parts.h"
#include "model/speedup.h"

namespace warpmark {

Json to_json(const std::vector<RunSpeedUp>& speedups) {
  Json list = Json::array();
  for (const auto& item : speedups) {
    Json json{{"run", item.run},
              {"against", item.against},
              {"parameter", item.parameter},
              {"baseline", item.baseline},
              {"ratio", finite_number(item.ratio)}};
    put_interval(json, item.interval);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace warpmark
