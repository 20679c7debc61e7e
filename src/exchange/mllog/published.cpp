#include "exchange/mllog/published.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/lines/lines.h"
#include "generated/published.h"

namespace warpmark::exchange {
namespace {

std::string_view take_cell(std::string_view& line) {
  const auto end = std::min(line.find(','), line.size());
  const std::string_view cell = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return cell;
}

template <typename T>
T number_of_cell(std::string_view cell) {
  T value{};
  const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  WM_CHECK(read.ec == std::errc());
  return value;
}

}  // namespace

std::vector<PublishedResult> published_results(std::string_view benchmark) {
  std::vector<PublishedResult> results;
  std::string_view text = generated::kPublished.front().text;
  bool header = true;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.empty() || line.front() == '#') continue;
    if (std::exchange(header, false)) continue;
    PublishedResult result{.round = take_cell(line), .benchmark = take_cell(line), .accelerator = take_cell(line)};
    result.accelerators = number_of_cell<int>(take_cell(line));
    result.minutes = number_of_cell<double>(take_cell(line));
    result.submitter = line;
    if (result.benchmark != benchmark) continue;
    if (!results.empty() && results.back().round != result.round) results.clear();  // rounds are in order
    results.push_back(result);
  }
  return results;
}

}  // namespace warpmark::exchange
