// Whether the watches of this host still look.
#include <algorithm>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "watch/exporter/stored.h"

namespace warpmark::watch {

std::vector<Family> heartbeat_families(const std::filesystem::path& folder) {
  Family family{"warpmark_watch_timestamp_seconds",
                "When this warpmark watch wrote its state last, since 1970; it does so every 5 minutes.",
                FamilyType::gauge,
                {}};
  std::error_code code;
  for (const auto& file : std::filesystem::directory_iterator(folder, code)) {
    const auto& path = file.path();
    if (!path.filename().string().starts_with("watch-") || path.extension() != ".json") continue;
    constexpr std::int64_t kLargest = 16 << 20;
    const auto text = read_file(path, kLargest);
    const auto state = text.ok() ? parse_json(*text, path.string()) : Result<Json>(text.error());
    if (!state.ok() || !state->is_object() || state->value("ended", false)) continue;
    const auto wall = state->find("wall_s");
    if (wall == state->end() || !wall->is_number()) continue;
    family.samples.push_back({{{"watch", path.stem().string()}}, wall->get<double>()});
  }
  std::ranges::sort(family.samples, {}, &Sample::labels);
  return {std::move(family)};
}

}  // namespace warpmark::watch
