// Rows: size, count, type, [redop], [root], then time, algbw, busbw, #wrong out of place and in place (src/common.cu of
// github.com/NVIDIA/nccl-tests). Which columns there are is read from the header row, as versions and tests differ.
#include "profile/readers/logs/nccl_tests.h"

#include <algorithm>
#include <optional>

#include "profile/readers/text/decimal.h"
#include "profile/readers/text/json_text.h"
#include "profile/readers/text/line_reader.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kMostResults = 1 << 14;  // a sweep prints some 60
constexpr std::size_t kValuesPerHalf = 4;      // time, algbw, busbw, #wrong

Sniff sniff(std::string_view head) {
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  if (has("# nThread ") && has("minBytes ")) return {90, ""};
  return {has("algbw") && has("busbw") && has("#") ? 80 : 0, ""};
}

struct Layout {
  bool has_operation = true;
  bool has_root = true;
  [[nodiscard]] std::size_t first_value() const { return 3U + (has_operation ? 1 : 0) + (has_root ? 1 : 0); }
};

class NcclTable {
 public:
  explicit NcclTable(ProfileSession& session) : session_(session) {}

  void add(std::string_view line) {
    const auto words = words_of(line);
    if (words.empty()) return;
    if (words[0].starts_with('#')) return comment(line, words);
    if (parse_integer(words[0])) return row(words, line);
  }

  void finish(ProfileSession& session) const {
    for (std::size_t i = first_; i < session.collectives.size(); ++i) {
      if (session.collectives[i].collective.empty()) session.collectives[i].collective = "unknown";
    }
  }

 private:
  void comment(std::string_view line, const std::vector<std::string_view>& words) {
    constexpr std::string_view kStarting = "test starting: ";
    if (const auto at = line.find(kStarting); at != std::string_view::npos) {
      name_collective(line.substr(at + kStarting.size()));
    }
    if (words.size() > 2 && words[1] == "Rank" && parse_integer(words[2])) ++ranks_;
    if (std::find(words.begin(), words.end(), "count") == words.end()) return;
    layout_.has_operation = std::find(words.begin(), words.end(), "redop") != words.end();
    layout_.has_root = std::find(words.begin(), words.end(), "root") != words.end();
  }

  void name_collective(std::string_view name) {
    const auto words = words_of(name);
    if (words.empty()) return;
    name = words[0];
    if (const auto suffix = name.rfind("_perf"); suffix != std::string_view::npos) name = name.substr(0, suffix);
    collective_ = fix_utf8(name);
    ranks_ = 0;
  }

  void row(const std::vector<std::string_view>& words, std::string_view line) {
    const std::size_t first = layout_.first_value();
    const auto bytes = parse_integer(words[0]);
    if (!bytes || *bytes < 0 || words.size() < first + 3) {
      count_issue(session_.quality, "short_row", "rows that end early: left out", line);
      return;
    }
    if (session_.collectives.size() - first_ >= kMostResults) {
      count_issue(session_.quality, "too_many_rows", "rows beyond the first 16384 results: left out", line);
      return;
    }
    for (std::size_t half = 0; half < 2; ++half) {
      const std::size_t at = first + half * kValuesPerHalf;
      if (words.size() < at + 3) break;
      add_half(words, at, half == 1, *bytes, line);
    }
  }

  void add_half(const std::vector<std::string_view>& words, std::size_t at, bool in_place, std::int64_t bytes,
                std::string_view line) {
    const auto time = parse_number(words[at]), algorithm = parse_number(words[at + 1]),
               bus = parse_number(words[at + 2]);
    if (!time || !algorithm || !bus) {
      count_issue(session_.quality, "not_a_number", "rows without a time or bandwidth: left out", line);
      return;
    }
    CollectiveResult result;
    result.collective = collective_;
    result.data_type = fix_utf8(words[2]);
    if (layout_.has_operation && words[3] != "none") result.operation = fix_utf8(words[3]);
    result.bytes = bytes;
    result.ranks = ranks_;
    result.in_place = in_place;
    result.seconds = *time * 1e-6;
    result.algorithm_bandwidth = *algorithm * 1e9;
    result.bus_bandwidth = *bus * 1e9;
    if (at + 3 < words.size()) result.wrong = parse_integer(words[at + 3]);
    session_.collectives.push_back(std::move(result));
  }

  ProfileSession& session_;
  std::size_t first_ = session_.collectives.size();
  Layout layout_;
  std::string collective_;
  int ranks_ = 0;
};

Status read(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  NcclTable table(session);
  const std::size_t before = session.collectives.size();
  WM_TRY(for_each_line(source, session.quality, [&table](std::string_view line) { table.add(line); }));
  table.finish(session);
  // A curve over sizes is of the results out of place: those in place alone, as of a damaged table, have none.
  const auto first = session.collectives.begin() + static_cast<std::ptrdiff_t>(before);
  const bool has_curve =
      std::any_of(first, session.collectives.end(), [](const auto& one) { return !one.in_place && one.bytes > 0; });
  if (has_curve) return {};
  return data_error("the output of nccl-tests has no row of results", "did the test run to its first size?");
}

}  // namespace

const TraceReader kNcclTestsReader = {"nccl_tests", "output of nccl-tests: all_reduce_perf, all_gather_perf, ...",
                                      sniff, read};

}  // namespace warpmark::profile
