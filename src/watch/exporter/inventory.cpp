#include "watch/exporter/inventory.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "model/fields/fields.h"

namespace warpmark::watch {
namespace {

using device::nvml::GpuFacts;

constexpr double kDay_s = 86400;
constexpr double kForgotten_s = 7 * kDay_s;

using Entry = GpuInventory::Entry;
struct Inventory {
  std::vector<Entry> gpus;
};

constexpr Field kEntryFields[] = {
    field<&Entry::facts, &GpuFacts::index>("index"), field<&Entry::facts, &GpuFacts::uuid>("uuid"),
    field<&Entry::facts, &GpuFacts::name>("name"), field<&Entry::facts, &GpuFacts::pci_bus_id>("pci_bus_id"),
    field<&Entry::seen_s>("seen_s")};
constexpr RecordOf<Entry> kEntry{"gpu", "", kEntryFields};
constexpr Field kInventoryFields[] = {field<&Inventory::gpus>("gpus", "", kEntry)};
constexpr RecordOf<Inventory> kInventory{"inventory", "", kInventoryFields, "warpmark.gpu_inventory/1"};

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
  Inventory known;
  WM_TRY(read_record(kInventory, json, &known, file_.string()));
  std::erase_if(known.gpus, [&](const Entry& entry) { return wall_s - entry.seen_s >= kForgotten_s; });
  entries_ = std::move(known.gpus);
  return {};
}

Status GpuInventory::write() const {
  WM_TRY(make_folder(std::filesystem::absolute(file_).parent_path()));
  return write_file(file_, dump_json(warpmark::write(kInventory, Inventory{entries_})) + "\n");
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
