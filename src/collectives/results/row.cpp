#include "collectives/results/row.h"

#include "base/json.h"
#include "base/untrusted/read_fields.h"

namespace warpmark::collectives {
namespace {

constexpr std::string_view kMark = "@warpmark ";

Json placement_json(const Placement& place) {
  Json json{{"time", place.time_s}, {"samples", place.samples_s},   {"rank_times", place.rank_s},
            {"skew", place.skew_s}, {"late_rank", place.late_rank}, {"late_share", place.late_share}};
  if (place.wrong) json["wrong"] = *place.wrong;
  if (!place.wrong_ranks.empty()) json["wrong_ranks"] = place.wrong_ranks;
  return json;
}

Placement placement_of(const Json& json) {
  Placement place;
  place.time_s = json.at("time").get<double>();
  place.samples_s = json.at("samples").get<std::vector<double>>();
  place.rank_s = json.at("rank_times").get<std::vector<double>>();
  place.skew_s = json.at("skew").get<double>();
  place.late_rank = json.at("late_rank").get<int>();
  place.late_share = json.at("late_share").get<double>();
  if (json.contains("wrong")) place.wrong = json.at("wrong").get<std::int64_t>();
  if (json.contains("wrong_ranks")) place.wrong_ranks = json.at("wrong_ranks").get<std::vector<std::int64_t>>();
  return place;
}

/// Lines may be torn when ranks die: what does not read is a data error.
template <typename Read>
auto read_or_error(const char* what, Read&& read) -> Result<decltype(read())> {
  using Value = decltype(read());
  return read_fields(std::string("a rank's ") + what, [&]() -> Result<Value> { return read(); });
}

}  // namespace

double algorithm_bandwidth(const Row& row, const Placement& place) {
  return place.time_s > 0 ? algorithm_bytes(row.kind, row.counts, row.type, row.ranks) / place.time_s : 0;
}

double bus_bandwidth(const Row& row, const Placement& place) {
  return algorithm_bandwidth(row, place) * bus_factor(row.kind, row.ranks);
}

Json to_json(const Row& row) {
  Json json{{"collective", info_of(row.kind).id},
            {"type", name_of(row.type)},
            {"ranks", row.ranks},
            {"count", row.counts.parameter},
            {"size", row.counts.bytes},
            {"root", row.root},
            {"send", row.counts.send},
            {"receive", row.counts.receive}};
  if (info_of(row.kind).reduces) json["op"] = name_of(row.op);
  const auto add = [&](const char* name, const std::optional<Placement>& place) {
    if (!place) return;
    json[name] = placement_json(*place);
    json[name]["algbw"] = algorithm_bandwidth(row, *place);
    json[name]["busbw"] = bus_bandwidth(row, *place);
  };
  add("out_of_place", row.out_of_place);
  add("in_place", row.in_place);
  return json;
}

Json to_json(const Head& head) {
  return Json{{"engine", head.engine}, {"version", head.version},     {"ranks", head.ranks},
              {"hosts", head.hosts},   {"copy_rate", head.copy_rate}, {"notes", head.notes}};
}

Result<Row> row_from_json(const Json& json) {
  WM_ASSIGN(Row row, read_or_error("row", [&] {
              Row read;
              read.ranks = json.at("ranks").get<int>();
              read.root = json.at("root").get<int>();
              read.counts = {json.at("count").get<std::int64_t>(), json.at("send").get<std::int64_t>(),
                             json.at("receive").get<std::int64_t>(), json.at("size").get<std::int64_t>()};
              if (json.contains("out_of_place")) read.out_of_place = placement_of(json.at("out_of_place"));
              if (json.contains("in_place")) read.in_place = placement_of(json.at("in_place"));
              return read;
            }));
  WM_ASSIGN(row.kind, parse_collective(json.value("collective", "")));
  WM_ASSIGN(row.type, parse_data_type(json.value("type", "")));
  if (json.contains("op")) {
    WM_ASSIGN(row.op, parse_reduce_op(json.value("op", "")));
  }
  return row;
}

Result<Head> head_from_json(const Json& json) {
  return read_or_error("head", [&] {
    return Head{json.at("engine").get<std::string>(),
                json.at("version").get<std::string>(),
                json.at("ranks").get<std::vector<std::string>>(),
                json.at("hosts").get<std::vector<std::string>>(),
                json.at("copy_rate").get<double>(),
                json.at("notes").get<std::vector<std::string>>()};
  });
}

std::string message_line(std::string_view kind, const Json& json) {
  return std::string(kMark) + std::string(kind) + " " + dump_json(json, -1) + "\n";
}

std::optional<Message> message_of(std::string_view line) {
  if (!line.starts_with(kMark)) return std::nullopt;
  line.remove_prefix(kMark.size());
  const auto space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return Message{std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

}  // namespace warpmark::collectives
