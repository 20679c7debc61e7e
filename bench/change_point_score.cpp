// Change points against those that people marked: the Turing Change Point Dataset (van den Burg, Williams, arXiv
// 2003.06222), by its own two measures. Give it a checkout of https://github.com/alan-turing-institute/TCPD; only what
// is complete and of one dimension in it is scored. Prints a markdown table; "none" finds no change in anything.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "arguments.h"
#include "base/files.h"
#include "base/json.h"
#include "stats/change_points.h"
#include "stats/segmentation_score.h"

namespace {

using namespace warpmark;
using stats::ChangePointOptions;
using stats::Places;

struct Annotated {
  std::string name;
  std::vector<double> values;
  std::vector<Places> annotators;
};

struct Contender {
  std::string name;
  std::function<Places(const std::vector<double>&)> find;
};

Result<Json> json_of(const std::filesystem::path& path) {
  WM_ASSIGN(const auto text, read_file(path.string()));
  return parse_json(text, path.string());
}

Result<std::vector<Annotated>> read_dataset(const std::filesystem::path& folder) {
  WM_ASSIGN(const Json annotations, json_of(folder / "annotations.json"));
  std::vector<Annotated> all;
  for (const auto& [name, annotators] : annotations.items()) {
    const auto path = folder / "datasets" / name / (name + ".json");
    if (!std::filesystem::exists(path)) continue;
    WM_ASSIGN(const Json series, json_of(path));
    if (!series.contains("series") || series["series"].size() != 1) continue;
    Annotated one{.name = name, .values = {}, .annotators = {}};
    bool complete = true;
    for (const auto& value : series["series"][0]["raw"]) {
      complete = complete && value.is_number();
      if (complete) one.values.push_back(value.get<double>());
    }
    if (!complete || one.values.empty()) continue;
    for (const auto& [person, places] : annotators.items()) one.annotators.push_back(places.get<Places>());
    all.push_back(std::move(one));
  }
  if (all.empty()) return data_error("there is no series in " + folder.string(), "a checkout of TCPD has some");
  return all;
}

Contender contender(const std::string& name, const ChangePointOptions& options) {
  return {name, [options](const std::vector<double>& values) {
            Places places;
            for (const auto& point : stats::change_points(values, options)) places.insert(point.index);
            return places;
          }};
}

void score(const Contender& contender, const std::vector<Annotated>& dataset) {
  double covering = 0, f1 = 0, found = 0;
  for (const auto& series : dataset) {
    const Places places = contender.find(series.values);
    covering += stats::covering(series.annotators, places, static_cast<std::int64_t>(series.values.size()));
    f1 += stats::f1_score(series.annotators, places);
    found += static_cast<double>(places.size());
  }
  const auto n = static_cast<double>(dataset.size());
  fmt::print("| {} | {:.3f} | {:.3f} | {:.1f} |\n", contender.name, covering / n, f1 / n, found / n);
}

}  // namespace

int main(int count, char** arguments) {
  const char* usage = "change_point_score FOLDER   a checkout of the Turing Change Point Dataset";
  if (const auto code = bench::end_with_usage(count, arguments, usage, 1, 1)) return *code;
  const auto dataset = read_dataset(arguments[1]);
  if (!dataset.ok()) {
    fmt::print(stderr, "{}\n", dataset.error().what);
    return 2;
  }
  double marked = 0;
  std::size_t annotators = 0;
  for (const auto& series : *dataset) {
    for (const auto& places : series.annotators) marked += static_cast<double>(places.size());
    annotators += series.annotators.size();
  }
  fmt::print("{} series, {:.1f} change points an annotator\n\n", dataset->size(),
             marked / static_cast<double>(annotators));
  fmt::print("| method | covering | F1 | change points a series |\n|---|---:|---:|---:|\n");
  score({"none", [](const auto&) { return Places{}; }}, *dataset);
  score(contender("trend (5 %, autocorrelation)", {}), *dataset);
  score(contender("any magnitude, autocorrelation", {.min_magnitude = 0}), *dataset);
  score(contender("check (5 %, autocorrelation ignored)", {.autocorrelation = false}), *dataset);
  score(contender("any magnitude, autocorrelation ignored", {.min_magnitude = 0, .autocorrelation = false}), *dataset);
  score(contender("as Otava publishes it (any magnitude)",
                  {.min_magnitude = 0, .autocorrelation = false, .published = true}),
        *dataset);
  score(contender("as Otava publishes it, 5 %", {.autocorrelation = false, .published = true}), *dataset);
  score(contender("any magnitude, autocorrelation ignored, windows of 100",
                  {.window = 100, .min_magnitude = 0, .autocorrelation = false}),
        *dataset);
  return 0;
}
