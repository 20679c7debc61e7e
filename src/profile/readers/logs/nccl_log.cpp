#include "profile/readers/logs/nccl_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profile/readers/text/decimal.h"
#include "profile/readers/text/json_text.h"
#include "profile/readers/text/line_reader.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kMostResults = 1 << 14;  // a sweep prints some 60
constexpr std::size_t kMostPrefixes = 8, kMostPrefix = 80, kMostCutRow = 4096;
constexpr std::size_t kMostDevices = 1 << 14;
constexpr std::size_t kBlankHalf = 24;  // blanks that stand for the values out of place

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_host_letter(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}

/// A word of a row's values: a number, or N/A for what was not measured.
bool is_value(std::string_view word) { return word == "N/A" || parse_number(word).has_value(); }

bool is_whole(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c); });
}

/// Runs of digits as one '9', blanks as one, those in front left out: the shape of a prefix that counts or dates.
std::string shape_of(std::string_view text) {
  std::string shape;
  for (const char c : text) {
    const char kind = is_digit(c) ? '9' : is_blank(c) ? ' ' : c;
    const bool repeats = !shape.empty() && shape.back() == kind && (kind == '9' || kind == ' ');
    if (!repeats && !(shape.empty() && kind == ' ')) shape += kind;
  }
  return shape;
}

/// How many bytes of the line have this shape; nothing if it does not begin so.
std::optional<std::size_t> length_of_shape(std::string_view line, std::string_view shape) {
  std::size_t at = 0;
  while (at < line.size() && is_blank(line[at])) ++at;
  for (const char kind : shape) {
    if (kind == '9' || kind == ' ') {
      const std::size_t begin = at;
      while (at < line.size() && (kind == '9' ? is_digit(line[at]) : is_blank(line[at]))) ++at;
      if (at == begin && !(kind == ' ' && at == line.size())) return std::nullopt;
    } else if (at < line.size() && line[at] == kind) {
      ++at;
    } else {
      return std::nullopt;
    }
  }
  return at;
}

std::optional<std::string> word_after(const std::vector<std::string_view>& words, std::string_view name) {
  const auto found = std::find(words.begin(), words.end(), name);
  if (found == words.end() || found + 1 == words.end()) return std::nullopt;
  return fix_utf8(*(found + 1));
}

/// A row begins with size and count, whole numbers, and the name of a type.
bool begins_row(const std::vector<std::string_view>& words) {
  return words.size() >= 3 && is_whole(words[0]) && is_whole(words[1]) && !is_value(words[2]) &&
         ((words[2][0] >= 'a' && words[2][0] <= 'z'));
}

/// How many sizes "minBytes 8 maxBytes 64 step: 2(factor)" are; 0 if the line says something else.
std::int64_t sizes_of(std::string_view first, std::string_view last, std::string_view step) {
  const auto least = parse_integer(first), most = parse_integer(last);
  const auto by = parse_integer(step.substr(0, step.find('(')));
  if (!least || !most || !by || *least < 0 || *most < *least || *by < 1) return 0;
  if (step.ends_with("(bytes)")) return (*most - *least) / *by + 1;
  if (!step.ends_with("(factor)") || *by < 2 || *least < 1) return 0;
  std::int64_t sizes = 1;
  for (auto left = *most / *least; left >= *by; left /= *by) ++sizes;
  return sizes;
}

}  // namespace

int NcclSweep::ranks() const {
  int largest = -1;
  for (const auto& device : devices) largest = std::max(largest, device.rank);
  return largest + 1;
}

std::string nccl_collective_in(std::string_view text) {
  constexpr std::string_view kSuffix = "_perf";
  for (auto at = text.find(kSuffix); at != std::string_view::npos; at = text.find(kSuffix, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && ((text[begin - 1] >= 'a' && text[begin - 1] <= 'z') || text[begin - 1] == '_')) --begin;
    const auto end = at + kSuffix.size();
    const bool ends = end == text.size() || !is_host_letter(text[end]) || text[end] == '.';
    if (begin < at && ends) return std::string(text.substr(begin, at - begin));
  }
  return {};
}

std::string nccl_version_of(std::int64_t code) {
  const std::int64_t major = code >= 10'000 ? 10'000 : 1000;  // from 2.9 on two digits each
  return fmt::format("{}.{}.{}", code / major, code % major / 100, code % 100);
}

void infer_collective(NcclSweep& sweep) {
  const int ranks = sweep.ranks();
  if (!sweep.collective.empty() || ranks < 2) return;
  const CollectiveResult* largest = nullptr;
  for (const auto& result : sweep.results) {
    if (result.algorithm_bandwidth > 0 && (largest == nullptr || result.bytes > largest->bytes)) largest = &result;
  }
  if (largest == nullptr) return;
  const double factor = largest->bus_bandwidth / largest->algorithm_bandwidth;
  const double part = static_cast<double>(ranks - 1) / ranks;
  const auto is = [&](double expected) { return std::fabs(factor / expected - 1) < 0.02; };
  const bool reduces = !largest->operation.empty(), rooted = largest->root >= 0;
  if (reduces && rooted && is(1)) sweep.collective = "reduce";
  if (reduces && !rooted && is(2 * part)) sweep.collective = "all_reduce";
  if (reduces && !rooted && is(part)) sweep.collective = "reduce_scatter";
  if (!reduces && rooted && is(1)) sweep.collective = "broadcast";
  if (!reduces && !rooted && is(1)) sweep.collective = "sendrecv";
}

void NcclLogParser::add(std::string_view line) {
  learn_prefix(line);
  line = without_debug(without_prefix(line));
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return;
  if (line[first] == '#') return comment(line);
  if (next_collective_.empty()) next_collective_ = nccl_collective_in(line);  // the command, as a shell echoes it
  constexpr std::string_view kVersion = "NCCL version ";
  if (const auto at = line.find(kVersion); at != std::string_view::npos && log_.library_version.empty()) {
    const auto text = line.substr(at + kVersion.size());
    log_.library_version = fix_utf8(text.substr(0, text.find_first_of("+ ")));
  }
  body(line);
}

NcclLog NcclLogParser::finish() {
  drop_cut_row();
  std::erase_if(log_.sweeps, [](const NcclSweep& sweep) { return sweep.results.empty(); });
  for (NcclSweep& sweep : log_.sweeps) {
    for (auto& result : sweep.results) result.ranks = sweep.ranks();
    infer_collective(sweep);
    for (auto& result : sweep.results) {
      result.collective = sweep.collective.empty() ? "unknown" : fix_utf8(sweep.collective);
    }
  }
  return std::move(log_);
}

NcclSweep& NcclLogParser::sweep() {
  if (log_.sweeps.empty()) begin_sweep();
  return log_.sweeps.back();
}

/// Nothing to do where the newest has nothing yet but its name.
void NcclLogParser::begin_sweep() {
  drop_cut_row();
  if (log_.sweeps.empty() || !log_.sweeps.back().results.empty()) log_.sweeps.emplace_back();
  if (!next_collective_.empty()) log_.sweeps.back().collective = next_collective_;
}

/// What stands before a line that nccl-tests begins with '#'.
void NcclLogParser::learn_prefix(std::string_view line) {
  const auto hash = line.find('#');
  if (hash == 0 || hash == std::string_view::npos || hash > kMostPrefix || prefixes_.size() == kMostPrefixes) return;
  const auto rest = line.substr(hash);
  constexpr std::array<std::string_view, 4> kMarks{"# nThread ", "# Using devices", "# nccl-tests version",
                                                   "# Collective test"};
  if (std::none_of(kMarks.begin(), kMarks.end(), [&](auto mark) { return rest.starts_with(mark); })) return;
  std::string shape = shape_of(line.substr(0, hash));
  if (shape.empty() || std::find(prefixes_.begin(), prefixes_.end(), shape) != prefixes_.end()) return;
  prefixes_.push_back(std::move(shape));
}

std::string_view NcclLogParser::without_prefix(std::string_view line) const {
  std::size_t longest = 0;
  for (const auto& shape : prefixes_) longest = std::max(longest, length_of_shape(line, shape).value_or(0));
  return line.substr(longest);
}

/// Without what NCCL_DEBUG wrote into the line: "host:pid:tid [device] NCCL INFO ..." up to its end.
std::string_view NcclLogParser::without_debug(std::string_view line) const {
  std::size_t mark = std::min(line.find("NCCL INFO"), line.find("NCCL WARN"));
  if (mark == std::string_view::npos) return line;
  const auto bracket = line.substr(0, mark).rfind(" [");
  if (bracket == std::string_view::npos) return line.substr(0, 0);
  std::size_t begin = bracket;  // of "host:pid:tid"
  for (int part = 0; part < 2; ++part) {
    while (begin > 0 && is_digit(line[begin - 1])) --begin;
    if (begin == 0 || line[begin - 1] != ':') return line.substr(0, 0);
    --begin;
  }
  std::size_t word = begin;
  while (word > 0 && is_host_letter(line[word - 1])) --word;
  const std::string_view host = line.substr(word, begin - word);
  if (word > 1 && line.substr(word - 2, 2) == "] ") {  // "[2026-03-01 12:00:00] host:pid:tid"
    if (const auto date = line.substr(0, word).rfind('['); date != std::string_view::npos) return line.substr(0, date);
  }
  for (const auto& known : hosts_) {
    if (host.ends_with(known)) return line.substr(0, begin - known.size());
  }
  const auto letter =
      std::find_if(host.begin(), host.end(), [](char c) { return !is_digit(c) && c != '-' && c != '.'; });
  return line.substr(0, word + static_cast<std::size_t>(letter - host.begin()));
}

void NcclLogParser::comment(std::string_view line) {
  const auto words = words_of(line);
  if (line.find("test starting: ") != std::string_view::npos) {
    next_collective_ = nccl_collective_in(line);
    begin_sweep();
  } else if (const auto version = word_after(words, "version");
             version && words.size() > 1 && words[1] == "nccl-tests") {
    log_.version = *version;
    for (const auto word : words) {
      constexpr std::string_view kLibrary = "nccl-library=";
      const auto code = word.starts_with(kLibrary) ? parse_integer(word.substr(kLibrary.size())) : std::nullopt;
      if (code) log_.library_version = nccl_version_of(*code);
    }
  } else if (words.size() > 1 && words[1] == "nThread") {
    settings(words);
  } else if (words.size() > 2 && words[1] == "Rank") {
    device(words);
  } else if (std::find(words.begin(), words.end(), "count") != words.end()) {
    header(words);
  } else if (const auto at = line.find("Out of bounds values"); at != std::string_view::npos) {
    const auto wrong = word_after(words, ":");
    if (wrong) sweep().out_of_bounds = parse_integer(*wrong);
    sweep().ended = true;
  } else if (words.size() > 2 && words[1] == "Reducing" && words[2] == "maxBytes") {
    sweep().announced_sizes = 0;  // of the memory; fewer sizes than announced
  }
}

void NcclLogParser::settings(const std::vector<std::string_view>& words) {
  begin_sweep();
  next_collective_.clear();
  NcclSweep& now = sweep();
  now.begun = true;
  if (const auto graph = word_after(words, "graph:")) now.settings["graph"] = *graph;
  const auto least = word_after(words, "minBytes"), most = word_after(words, "maxBytes");
  const auto step = word_after(words, "step:");
  if (least && most && step) now.announced_sizes = sizes_of(*least, *most, *step);
}

/// "#  Rank  0 Group  0 Pid  545 on  vm device  0 [0000:00:06] NVIDIA H200"
void NcclLogParser::device(const std::vector<std::string_view>& words) {
  const auto rank = parse_integer(words[2]);
  NcclSweep& now = sweep();
  if (!rank || *rank < 0 || *rank > 1'000'000 || now.devices.size() >= kMostDevices) return;
  NcclDevice found{.rank = static_cast<int>(*rank), .host = word_after(words, "on").value_or(""), .name = {}};
  auto word = std::find_if(words.begin() + 2, words.end(), [](auto text) { return text.ends_with(']'); });
  while (word != words.end() && ++word != words.end()) found.name += (found.name.empty() ? "" : " ") + fix_utf8(*word);
  now.several_rank_zeros = now.several_rank_zeros || (found.rank == 0 && !now.devices.empty());
  if (!found.host.empty() && hosts_.size() < kMostDevices) hosts_.insert(found.host);
  now.devices.push_back(std::move(found));
}

void NcclLogParser::header(const std::vector<std::string_view>& words) {
  layout_ = {};
  for (std::size_t i = 1; i < words.size(); ++i) {  // after the '#'
    const std::string name = fix_utf8(words[i]);
    if (name == "timestamp") break;
    const bool is_time = name == "time" || name == "cputime";
    if (is_time) layout_.halves.push_back({.first = i - 1, .columns = {}});
    if (layout_.halves.empty()) {
      layout_.keys[name] = i - 1;
    } else {
      layout_.halves.back().columns.push_back(is_time ? "time" : name);
    }
    layout_.columns = i;
  }
  if (layout_.halves.size() > 2) layout_.halves.resize(2);
}

/// A row, or a part of one that other output has cut.
void NcclLogParser::body(std::string_view line) {
  const auto words = words_of(line);
  if (begins_row(words)) {
    drop_cut_row();
    return row(line);
  }
  if (cut_row_.empty()) return;
  // Parts are cut where values end, so that all that may follow are values.
  if (!std::all_of(words.begin(), words.end(), is_value) || cut_row_.size() + line.size() > kMostCutRow) return;
  const std::string joined = cut_row_ + " " + std::string(line);
  cut_row_.clear();
  row(joined);
}

void NcclLogParser::drop_cut_row() {
  if (!cut_row_.empty()) count_issue(log_.issues, "short_row", "rows that end early: left out", cut_row_);
  cut_row_.clear();
}

void NcclLogParser::row(std::string_view line) {
  if (layout_.halves.empty()) return count_issue(log_.issues, "no_header", "rows without a header: left out", line);
  auto words = words_of(line);
  auto& sizes = sweep().printed_sizes;
  if (const auto size = parse_integer(words[0]); size && sizes.size() < kMostResults) sizes.insert(*size);
  const std::size_t first = layout_.halves[0].first, half = layout_.halves[0].columns.size();
  // Some versions leave operation and root blank where there are none.
  const auto redop = layout_.keys.find("redop");
  const std::size_t blank = layout_.columns > words.size() ? layout_.columns - words.size() : 0;
  if ((blank == 1 || blank == 2) && redop != layout_.keys.end() && redop->second < words.size() &&
      is_value(words[redop->second])) {
    const auto at = words.begin() + static_cast<std::ptrdiff_t>(redop->second);
    const std::array<std::string_view, 2> missing{"none", "-1"};
    words.insert(at, missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(blank));
  }
  bool only_in_place = false;
  if (words.size() < layout_.columns) {
    // A replayed trace has no values out of place; a row is whole with half the values only there.
    const bool half_a_row = layout_.halves.size() == 2 && words.size() == first + half;
    const char* end = half_a_row ? words[first - 1].data() + words[first - 1].size() : nullptr;
    only_in_place = half_a_row && words[first].data() >= end + kBlankHalf;
    if (!only_in_place) {
      cut_row_ = line;
      return;
    }
  }
  if (results_ >= kMostResults) {
    return count_issue(log_.issues, "too_many_rows", "rows beyond the first 16384 results: left out", line);
  }
  bool any = false;
  for (std::size_t i = 0; i < layout_.halves.size(); ++i) {
    Half columns = layout_.halves[i];
    if (only_in_place && i == 0) continue;
    if (only_in_place) columns.first = first;
    any = add_half(words, columns, i == 1) || any;
  }
  if (!any) count_issue(log_.issues, "not_a_number", "rows without a time or bandwidth: left out", line);
}

bool NcclLogParser::add_half(const std::vector<std::string_view>& words, const Half& half, bool in_place) {
  CollectiveResult result;
  const auto key = [&](const char* name) {
    const auto found = layout_.keys.find(name);
    return found == layout_.keys.end() ? std::string_view() : words[found->second];
  };
  std::optional<double> time, algorithm, bus;
  for (std::size_t i = 0; i < half.columns.size() && half.first + i < words.size(); ++i) {
    const auto value = parse_number(words[half.first + i]);
    const std::string& name = half.columns[i];
    if (name == "time")
      time = value;
    else if (name == "algbw")
      algorithm = value;
    else if (name == "busbw")
      bus = value;
    else if (name == "#wrong")
      result.wrong = value ? std::optional(std::llround(*value)) : std::nullopt;
    else if (value && name.starts_with("i_"))
      result.others.emplace_back(name, *value);
  }
  const auto bytes = parse_integer(key("size"));
  if (!time || !algorithm || !bus || !bytes || *bytes < 0) return false;
  result.data_type = fix_utf8(key("type"));
  if (key("redop") != "none") result.operation = fix_utf8(key("redop"));
  result.root = static_cast<int>(std::clamp<std::int64_t>(parse_integer(key("root")).value_or(-1), -1, 1'000'000));
  result.bytes = *bytes;
  result.in_place = in_place;
  result.seconds = *time * 1e-6;
  result.algorithm_bandwidth = *algorithm * 1e9;
  result.bus_bandwidth = *bus * 1e9;
  sweep().results.push_back(std::move(result));
  ++results_;
  return true;
}

}  // namespace warpmark::profile
