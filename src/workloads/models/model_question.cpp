#include "workloads/models/model_question.h"

#include "base/json.h"

namespace warpmark::workloads {
namespace {

Json knobs_of(const Params& params) {
  Json knobs = Json::object();
  if (params.text("channels_last") == "yes") knobs["channels_last"] = "yes";
  if (params.text("checkpoint") == "yes") knobs["checkpoint.blocks"] = "yes";
  if (params.text("compile") != "no") knobs["compile"] = params.text("compile");
  if (params.text("optimizer") != "default") knobs["optimizer.implementation"] = params.text("optimizer");
  if (params.text("attention") != "auto") knobs["attention.backend"] = params.text("attention");
  return knobs;
}

}  // namespace

Json prepare_question(const std::string& model, const Params& params, const ModelShape& shape, std::uint64_t seed) {
  Json config = Json::object();
  for (const auto& [name, value] : shape.sizes) config[name] = value;
  if (!shape.rows.empty()) config["rows"] = shape.rows;
  if (!shape.hots.empty()) config["hots"] = shape.hots;
  return {{"ask", "prepare"},
          {"model", model},
          {"config", config},
          {"batch", shape.batch},
          {"pass", params.text("pass")},
          {"precision", params.text("precision")},
          {"accumulate", params.integer("accumulate")},
          {"workers", params.integer("workers")},
          {"new_tokens", shape.new_tokens},
          {"seed", static_cast<std::int64_t>(seed % 1'000'000'007)},
          {"rate", 1e-3},
          {"knobs", knobs_of(params)}};
}

}  // namespace warpmark::workloads
