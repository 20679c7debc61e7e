#include "device/datasheet.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "base/yaml.h"
#include "generated/datasheets.h"

namespace warpmark::device {
namespace {

struct DatasheetReader : YamlReader {
  using YamlReader::YamlReader;

  Status quantity(const YAML::Node& map, const char* key, std::string_view unit, bool required, double& value) const {
    const auto node = map[key];
    if (!node) return required ? Status(error(map, std::string("there is no ") + key)) : Status();
    WM_ASSIGN(const auto text, scalar(node, key));
    WM_ASSIGN(value, located(node, key, parse_quantity(text, unit)));
    if (!(value > 0)) return error(node, std::string(key) + " must be above 0");
    return {};
  }

  Result<Datasheet> sheet(const YAML::Node& root) const {
    if (!root.IsMap()) return error(root, "a datasheet must be a map with the key 'name'");
    WM_TRY(only_keys(root, {"schema", "name", "devices", "memory", "memory_bandwidth", "power", "pcie_bandwidth",
                            "nvlink_bandwidth", "peak_rate", "sources"}));
    WM_TRY(schema(root, kDatasheetSchema));
    Datasheet sheet;
    for (const char* key : {"name", "devices", "sources", "peak_rate"}) {
      if (!root[key]) return error(root, std::string("there is no ") + key);
    }
    WM_ASSIGN(sheet.name, scalar(root["name"], "name"));
    WM_ASSIGN(sheet.devices, texts(root["devices"], "devices"));
    WM_ASSIGN(sheet.sources, texts(root["sources"], "sources"));
    WM_TRY(quantity(root, "memory", "B", true, sheet.memory_bytes));
    WM_TRY(quantity(root, "memory_bandwidth", "B/s", true, sheet.memory_bandwidth));
    WM_TRY(quantity(root, "power", "W", true, sheet.power_w));
    WM_TRY(quantity(root, "pcie_bandwidth", "B/s", false, sheet.pcie_bandwidth));
    WM_TRY(quantity(root, "nvlink_bandwidth", "B/s", false, sheet.nvlink_bandwidth));
    const auto rates = root["peak_rate"];
    if (!rates.IsMap()) return error(rates, "peak_rate must be a map such as {bf16: 989.4 TFLOPS}");
    for (const auto& item : rates) {
      const auto type = item.first.Scalar();
      WM_TRY(quantity(rates, type.c_str(), "FLOP/s", true, sheet.peak_rate[type]));
    }
    return sheet;
  }
};

}  // namespace

Result<Datasheet> parse_datasheet(std::string_view yaml, std::string_view file_name) {
  WM_ASSIGN(auto sheet,
            read_yaml(yaml, file_name, [&](const YAML::Node& root) { return DatasheetReader(file_name).sheet(root); }));
  sheet.id = std::string(file_name.substr(file_name.rfind('/') + 1));
  sheet.id = sheet.id.substr(0, sheet.id.rfind('.'));
  return sheet;
}

std::vector<Datasheet> built_in_datasheets() {
  std::vector<Datasheet> sheets;
  for (const auto& file : generated::kDatasheets) {
    auto sheet = parse_datasheet(file.text, file.name);
    WM_CHECK(sheet.ok());
    sheets.push_back(std::move(*sheet));
  }
  return sheets;
}

double visible_memory(const Datasheet& sheet) {
  constexpr double kGiB = 1.073741824;  // of a GB
  constexpr double kFastest = 880e9;    // B/s: of GDDR6 with ECC
  return sheet.memory_bytes * kGiB * (sheet.memory_bandwidth < kFastest ? 15.0 / 16 : 0.99);
}

const Datasheet* find_datasheet(std::span<const Datasheet> sheets, std::string_view id) {
  const auto found = std::find_if(sheets.begin(), sheets.end(), [&](const auto& sheet) { return sheet.id == id; });
  return found == sheets.end() ? nullptr : &*found;
}

const Datasheet* datasheet_of_device(std::span<const Datasheet> sheets, std::string_view device_name) {
  for (const auto& sheet : sheets) {
    for (const auto& pattern : sheet.devices) {
      if (glob_match(pattern, device_name)) return &sheet;
    }
  }
  return nullptr;
}

Promise promise_for(const Datasheet& sheet, const Run& run, std::string_view metric) {
  if (metric == "bandwidth") {
    if (run.cost.link.empty()) return {sheet.memory_bandwidth, "memory bandwidth"};
    const bool host_link = run.cost.link == "h2d" || run.cost.link == "d2h";
    if (host_link && sheet.pcie_bandwidth > 0) return {sheet.pcie_bandwidth, "PCIe bandwidth of one direction"};
    return {0, "datasheet " + sheet.id + " promises no bandwidth of " + run.cost.link};
  }
  if (metric == "flop_rate") {
    const auto peak = sheet.peak_rate.find(run.cost.flop_type);
    if (peak != sheet.peak_rate.end()) return {peak->second, "dense peak rate of " + run.cost.flop_type};
    return {0, "datasheet " + sheet.id + " promises no rate of " + run.cost.flop_type};
  }
  return {0, "a datasheet promises no " + std::string(metric)};
}

Promise promise_for(const Datasheet& sheet, std::string_view fact) {
  if (fact == "gpu_memory") return {sheet.memory_bytes, "memory"};
  if (fact == "power_limit" || fact == "default_power_limit") return {sheet.power_w, "maximum power"};
  return {0, "a datasheet promises no " + std::string(fact)};
}

}  // namespace warpmark::device
