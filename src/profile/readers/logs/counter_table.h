// What the two text tables of GPU counters share: columns that become series, one for each GPU.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile/profile_session.h"
#include "profile/catalog.h"

namespace warpmark::profile {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;
inline constexpr std::int64_t kMostGpus = 1024;  ///< of a machine; each takes memory for its series
inline constexpr double kMiB = 1024.0 * 1024.0;

struct CounterColumn {
  std::string_view header;  ///< as the tool prints it, lower case
  const char* id;           ///< CounterSeries::id
  const char* unit;
  double scale;  ///< from the printed unit
};

/// Collects samples; "-" and "N/A" become NaN. Not thread safe.
class CounterTable {
 public:
  CounterTable(std::span<const CounterColumn> known, ProfileSession& session) : known_(known), session_(session) {}

  /// `headers` of the columns with values; those without a known meaning are left out and counted, unless `unused` has
  /// them.
  void set_columns(const std::vector<std::string>& headers, std::span<const std::string_view> unused = {});
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }
  /// One value a column. Returns false if there are fewer.
  [[nodiscard]] bool add(int device, std::int64_t time_ns, std::span<const std::string_view> values);
  /// Adds the values to those of the same GPU and time, the last ones added; false if there are none.
  [[nodiscard]] bool add_to(int device, std::int64_t time_ns, std::span<const std::string_view> values);
  void add_value(const char* id, const char* unit, int device, std::int64_t time_ns, double value);
  /// The value that was added last; nothing if there is none.
  [[nodiscard]] std::optional<double> last(const char* id, int device) const;
  [[nodiscard]] bool empty() const { return series_.empty(); }
  /// Sorts by time where the file did not, and leaves out and counts columns without a single value.
  void finish();

 private:
  std::span<const CounterColumn> known_;
  ProfileSession& session_;
  std::vector<std::string> headers_;
  std::vector<const CounterColumn*> columns_;  ///< nullptr for those left out
  std::map<std::pair<int, std::string>, std::size_t> series_;
};

/// Sure if one of the first 20 lines is a header; `is_header` looks at what begins with the line.
[[nodiscard]] Sniff sniff_counter_table(std::string_view head, bool (*is_header)(std::string_view line));

}  // namespace warpmark::profile
