#include "watch/exporter/inventory.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/untrusted/read_fields.h"

namespace warpmark::watch {
namespace {

using device::nvml::GpuFacts;

constexpr double kDay_s = 86400;
constexpr double kForgotten_s = 7 * kDay_s;

}  // namespace

GpuInventory::GpuInventory(std::filesystem::path file, double wall_s, std::function<void(const std::string&)> log)
    : file_(std::move(file)), log_(std::move(log)) {
  const auto known = read(wall_s);
  if (!known.ok()) log_("the list of GPUs starts again: " + known.error().what);
}

std::vector<GpuFacts> GpuInventory::gpus() const {
  std::vector<GpuFacts> all;
  for (const auto& entry : entries_) all.push_back(entry.facts);
  return all;
}

Status GpuInventory::read(double wall_s) {
  if (std::error_code code; !std::filesystem::exists(file_, code)) return {};
  WM_ASSIGN(const auto text, read_file(file_, 1 << 20));
  WM_ASSIGN(const Json json, parse_json(text, file_.string()));
  if (!json.is_object() || json.value("schema", Json()) != kInventorySchema || !json.contains("gpus")) {
    return data_error(file_.string() + " is no " + kInventorySchema);
  }
  std::vector<Entry> entries;
  WM_TRY(read_fields(file_.string(), [&]() -> Status {
    for (const auto& gpu : json.at("gpus")) {
      Entry entry;
      entry.facts.index = gpu.at("index").get<int>();
      entry.facts.uuid = gpu.at("uuid").get<std::string>();
      entry.facts.name = gpu.at("name").get<std::string>();
      entry.facts.pci_bus_id = gpu.at("pci_bus_id").get<std::string>();
      entry.seen_s = gpu.at("seen_s").get<double>();
      if (wall_s - entry.seen_s < kForgotten_s) entries.push_back(std::move(entry));
    }
    return {};
  }));
  entries_ = std::move(entries);
  return {};
}

Status GpuInventory::write() const {
  Json json{{"schema", kInventorySchema}, {"gpus", Json::array()}};
  for (const auto& [facts, seen_s] : entries_) {
    json["gpus"].push_back({{"index", facts.index},
                            {"uuid", facts.uuid},
                            {"name", facts.name},
                            {"pci_bus_id", facts.pci_bus_id},
                            {"seen_s", seen_s}});
  }
  WM_TRY(make_folder(std::filesystem::absolute(file_).parent_path()));
  return write_file(file_, dump_json(json) + "\n");
}

void GpuInventory::seen(const std::vector<GpuFacts>& listed, double wall_s) {
  bool changed = wall_s - written_s_ >= kDay_s;
  for (const auto& facts : listed) {
    const auto replaced = std::erase_if(entries_, [&](const Entry& entry) {
      return entry.facts.uuid != facts.uuid && entry.facts.pci_bus_id == facts.pci_bus_id && !facts.pci_bus_id.empty();
    });
    auto known = std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.facts.uuid == facts.uuid; });
    changed = changed || replaced > 0 || known == entries_.end();
    if (known == entries_.end()) known = entries_.insert(known, Entry{});
    *known = {facts, wall_s};
  }
  if (!changed || entries_.empty()) return;
  written_s_ = wall_s;
  const auto written = write();
  if (!written.ok() && !std::exchange(reported_, true)) {
    log_("after a restart GPUs that are lost will not be missed: " + written.error().what);
  }
}

}  // namespace warpmark::watch
