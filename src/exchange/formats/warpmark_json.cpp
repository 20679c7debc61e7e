// warpmark.results/1: everything that was measured.
#include "base/json.h"
#include "base/text.h"
#include "exchange/import.h"
#include "model/json/json.h"

namespace warpmark::exchange {
namespace {

bool detect_warpmark_json(const Document& document) {
  if (!document.json || !document.json->is_object() || !document.json->contains("schema")) return false;
  const Json& schema = (*document.json)["schema"];
  return schema.is_string() && schema.get<std::string>().starts_with("warpmark.results/");
}

Result<std::vector<Session>> read_warpmark_json(const Document& document) {
  if (!document.json) return data_error("it is no JSON");
  WM_ASSIGN(auto session, session_from_json(*document.json));
  if (session.id.empty()) return data_error("the session has no id");
  return std::vector<Session>{std::move(session)};
}

Result<Exported> write_warpmark_json(const Session& session) {
  return Exported{dump_json(to_json(session)) + "\n", {}};
}

}  // namespace

extern const Format kWarpmark{"warpmark", "warpmark.results/1: everything that was measured", detect_warpmark_json,
                              read_warpmark_json, write_warpmark_json};

}  // namespace warpmark::exchange
