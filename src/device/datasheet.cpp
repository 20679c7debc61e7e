#include "device/datasheet.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "base/yaml_keys.h"
#include "generated/datasheets.h"

namespace warpmark::device {
namespace {

Status read_rates(const YamlReader& reader, const YamlNode& rates, const YamlKey&,
                  std::map<std::string, double>& into) {
  if (!rates.is_map()) return reader.error(rates, "peak_rate must be a map such as {bf16: 989.4 TFLOPS}");
  for (const auto& [type, rate] : rates.pairs()) {
    const std::string name = type.text();
    WM_TRY(reader.value(rate, {.key = name.c_str(), .form = yaml::quantity("FLOP/s")}, into[name]));
  }
  return {};
}

constexpr YamlKey kDatasheetKeys[] = {
    yaml_schema(kDatasheetSchema),
    yaml_key<&Datasheet::name>("name").needed(),
    yaml_key<&Datasheet::devices>("devices").needed(),
    yaml_key<&Datasheet::memory_bytes>("memory", yaml::quantity("B")).needed(),
    yaml_key<&Datasheet::memory_bandwidth>("memory_bandwidth", yaml::quantity("B/s")).needed(),
    yaml_key<&Datasheet::power_w>("power", yaml::quantity("W")).needed(),
    yaml_key<&Datasheet::pcie_bandwidth>("pcie_bandwidth", yaml::quantity("B/s")),
    yaml_key<&Datasheet::nvlink_bandwidth>("nvlink_bandwidth", yaml::quantity("B/s")),
    yaml_key<&Datasheet::peak_rate, read_rates>("peak_rate").needed(),
    yaml_key<&Datasheet::sources>("sources").needed(),
};

}  // namespace

Result<Datasheet> parse_datasheet(std::string_view yaml, std::string_view file_name) {
  WM_ASSIGN(const auto root, read_yaml(yaml, file_name));
  Datasheet sheet;
  WM_TRY(YamlReader(file_name).fill(root, "a datasheet must be a map with the key 'name'", kDatasheetKeys, sheet));
  sheet.id = std::filesystem::path(file_name).stem().string();
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
  const auto found = std::ranges::find_if(sheets, [&](const auto& sheet) { return sheet.id == id; });
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
