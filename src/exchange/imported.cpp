#include "exchange/imported.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <map>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "exchange/import.h"
#include "profile/readers/text/json_text.h"
#include "report/results/labels.h"
#include "stats/summary.h"

namespace warpmark::exchange {
namespace {

constexpr double kLargestSample = 1e150;  // its square is still a number

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

/// Seconds east of Greenwich from "Z", "+01:00", "-0530" or nothing.
std::optional<int> offset_s(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  if (text[0] != '+' && text[0] != '-') return std::nullopt;
  const bool colon = text.size() == 6 && text[3] == ':';
  if (!colon && text.size() != 5 && text.size() != 3) return std::nullopt;
  const auto hours = digits(text, 1, 2);
  const auto minutes = text.size() == 3 ? std::optional<int>(0) : digits(text, colon ? 4 : 3, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

constexpr std::size_t kMostKeys = 10'000;  // each is looked for among the others of its object
constexpr std::size_t kMostValues = 500'000, kBytesOfValue = 10;

/// The text with null for the NaN and Infinity that Python and C++ write where JSON has no word for them, and without
/// the sign of "2%", as Google Benchmark once wrote; nothing if it has none of these.
std::optional<std::string> without_nan(std::string_view text) {
  constexpr std::array<std::string_view, 8> kWords{"-Infinity", "Infinity", "-inf", "-nan",
                                                   "NaN",       "nan",      "inf",  "-NaN"};
  std::string strict;
  std::size_t copied = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '%' && i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9') {
      strict.append(text.substr(copied, i - copied));
      copied = i + 1;
      continue;
    }
    if (quoted || (c != 'N' && c != 'I' && c != 'n' && c != 'i' && c != '-')) continue;
    const auto rest = text.substr(i);
    const auto word = std::find_if(kWords.begin(), kWords.end(), [&](auto one) { return rest.starts_with(one); });
    if (word == kWords.end()) continue;
    strict.append(text.substr(copied, i - copied)).append("null");
    copied = i + word->size();
    i = copied - 1;
  }
  if (copied == 0) return std::nullopt;
  return strict.append(text.substr(copied));
}

/// JSON lines, an object each, as an array; nothing if a line is no JSON.
std::optional<Json> parse_lines(std::string_view text, std::string_view name) {
  Json array = Json::array();
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = trim(text.substr(begin, end - begin));
    begin = end + 1;
    if (line.empty()) continue;
    const auto strict = without_nan(line);
    auto json = line.front() == '{' ? parse_json(strict ? *strict : line, name) : Result<Json>(data_error("no object"));
    if (!json.ok()) return std::nullopt;
    array.push_back(std::move(*json));
  }
  return array;
}

/// What the parser would make of it, seen from the commas and colons outside of strings.
Status sparse(std::string_view text, std::string_view name) {
  const std::size_t most_values = std::max(kMostValues, text.size() / kBytesOfValue);
  std::size_t values = 0;
  std::vector<std::size_t> keys;  // of the objects and arrays that are open
  bool quoted = false;
  for (std::size_t i = 0; i < text.size() && keys.size() <= kMostJsonLevels; ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      continue;
    } else if (c == '[' || c == '{') {
      keys.push_back(0);
      ++values;
    } else if ((c == ']' || c == '}') && !keys.empty()) {
      keys.pop_back();
    } else if (c == ',' && ++values > most_values) {
      return data_error(fmt::format("{} has more than {} values in {} bytes of JSON", name, most_values, text.size()),
                        "no tool writes results so densely: is it the right file?");
    } else if (c == ':' && !keys.empty() && ++keys.back() > kMostKeys) {
      return data_error(fmt::format("{} has an object of more than {} keys", name, kMostKeys),
                        "no tool writes such results: is it the right file? Else split it");
    }
  }
  return {};
}

std::vector<std::int64_t> block_sizes(std::int64_t samples) {
  constexpr std::int64_t kMostBlocks = 30;
  const std::int64_t blocks = std::min(samples, kMostBlocks);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < blocks; ++i) sizes.push_back(samples * (i + 1) / blocks - samples * i / blocks);
  return sizes;
}

}  // namespace

Status ResultLimit::add(std::size_t results, const Params& params) {
  results_ += results;
  params_ += params.items().size();
  if (results_ <= most_results_ && params_ <= most_params_) return {};
  const bool is_results = results_ > most_results_;
  return data_error(fmt::format("it has more than {} {}", is_results ? most_results_ : most_params_,
                                is_results ? "results" : "parameters"),
                    is_results ? "split it; above 30000 each must have 100 bytes of the file"
                               : "split it; above 100000 each must have 10 bytes of the file");
}

Result<Json> parse_results(std::string_view text, std::string_view name) {
  WM_TRY(sparse(text, name));
  auto json = parse_json(text, name);
  if (json.ok()) return json;
  if (const auto strict = without_nan(text)) {
    if (auto again = parse_json(*strict, name); again.ok()) return again;
  }
  auto lines = parse_lines(text, name);
  return lines ? Result<Json>(std::move(*lines)) : json;
}

Session foreign_session(std::string_view tool, std::string_view version) {
  Session session;
  session.build.version = std::string(tool) + (version.empty() ? "" : " " + clean_text(version));
  session.command = "imported from " + session.build.version;
  session.complete = true;
  return session;
}

Run& add_run(Session& session, std::string_view name, std::string_view device) {
  Run& run = session.runs.emplace_back();
  run.index = static_cast<std::int64_t>(session.runs.size()) - 1;
  run.workload = clean_text(name);
  run.device = clean_text(device);
  run.outcome = Outcome::passed;
  run.converged = true;  // no precision was asked for here
  run.notes.emplace_back(kMeasuredBy, session.build.version);
  return run;
}

Status set_param(Run& run, std::string_view name, ParamValue value) {
  run.params.set(name, std::move(value));
  if (run.params.items().size() <= kMostParams) return {};
  return data_error(fmt::format("'{}' has more than {} parameters", run.workload, kMostParams));
}

Status add_metric(Run& run, const Quantity& quantity, std::vector<double> samples, Grouping grouping) {
  if (samples.empty()) return {};
  if (run.metrics.size() == kMostMetrics) {
    return data_error(fmt::format("'{}' has more than {} metrics", run.workload, kMostMetrics));
  }
  for (const double sample : samples) {
    if (!(std::fabs(sample) <= kLargestSample)) {
      return data_error(
          fmt::format("'{}' has a {} of {:g}, which is no measurement", run.workload, quantity.id, sample));
    }
    if (sample < 0 && std::string_view(quantity.unit) == "s") {
      return data_error(fmt::format("'{}' has a {} of {:g} s, below 0", run.workload, quantity.id, sample));
    }
  }
  Metric metric{.id = quantity.id, .unit = quantity.unit, .better = quantity.better};
  const auto count = static_cast<std::int64_t>(samples.size());
  if (grouping == Grouping::one_round) metric.round_sizes = {count};
  if (grouping == Grouping::round_each) metric.round_sizes.assign(samples.size(), 1);
  if (grouping == Grouping::one_process) {
    metric.round_sizes = block_sizes(count);
    run.notes.emplace_back(kOneProcess, fmt::format("{} rounds", metric.round_sizes.size()));
  }
  metric.summary = stats::summarize(samples);
  if (!std::isfinite(metric.summary.cv)) {  // values that all but cancel
    return data_error(
        fmt::format("the values of '{}' {} are too far apart to be summarized", run.workload, quantity.id));
  }
  metric.samples = std::move(samples);
  if (run.metrics.empty()) run.rounds = static_cast<std::int64_t>(metric.round_sizes.size());
  run.metrics.push_back(std::move(metric));
  return {};
}

Status add_rounds(Run& run, const Quantity& quantity, const std::vector<std::vector<double>>& rounds) {
  std::vector<double> samples;
  std::vector<std::int64_t> sizes;
  for (const auto& round : rounds) {
    if (round.empty()) continue;
    samples.insert(samples.end(), round.begin(), round.end());
    sizes.push_back(static_cast<std::int64_t>(round.size()));
  }
  if (samples.empty()) return {};
  WM_TRY(add_metric(run, quantity, std::move(samples)));
  run.metrics.back().round_sizes = std::move(sizes);
  if (run.metrics.size() == 1) run.rounds = static_cast<std::int64_t>(run.metrics[0].round_sizes.size());
  return {};
}

void merge_repeats(Session& session) {
  std::vector<Run> merged;
  std::map<std::string, std::size_t> places;
  for (Run& run : session.runs) {
    const auto [place, is_new] = places.try_emplace(run.workload + '\n' + to_text(run.params), merged.size());
    if (is_new) {
      run.index = static_cast<std::int64_t>(merged.size());
      merged.push_back(std::move(run));
      continue;
    }
    Run& first = merged[place->second];
    for (Metric& more : run.metrics) {
      const auto found = std::find_if(first.metrics.begin(), first.metrics.end(),
                                      [&](const Metric& metric) { return metric.id == more.id; });
      if (found == first.metrics.end()) {
        first.metrics.push_back(std::move(more));
        continue;
      }
      found->samples.insert(found->samples.end(), more.samples.begin(), more.samples.end());
      found->round_sizes.insert(found->round_sizes.end(), more.round_sizes.begin(), more.round_sizes.end());
    }
  }
  for (Run& run : merged) {
    for (Metric& metric : run.metrics) metric.summary = stats::summarize(metric.samples);
    if (!run.metrics.empty()) run.rounds = static_cast<std::int64_t>(run.metrics.front().round_sizes.size());
  }
  session.runs = std::move(merged);
}

Status add_summary_metric(Run& run, const Quantity& quantity, double value, const std::string& note) {
  WM_TRY(add_metric(run, quantity, {value}));
  if (!note.empty()) run.notes.emplace_back(quantity.id, note);
  return {};
}

std::string clean_text(std::string_view text) {
  std::string clean = profile::fix_utf8(text);
  for (char& letter : clean) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) letter = ' ';
  }
  return clean;
}

ParamValue param_value(std::string_view text) {
  const std::string clean = clean_text(text);
  if (const auto whole = parse_integer(clean); whole.ok() && to_text(ParamValue(*whole)) == clean) return *whole;
  if (const auto number = parse_number(clean); number.ok() && to_text(ParamValue(*number)) == clean) return *number;
  return clean;
}

bool has_decimal_commas(std::span<const std::string_view> cells) {
  bool commas = false;
  for (const auto cell : cells) {
    const bool number = number_in_cell(cell, true).ok();
    if (!number && parse_number(trim(cell)).ok()) return false;  // "0.25" is no group of thousands
    commas = commas || (number && cell.find(',') != std::string_view::npos);
  }
  return commas;
}

Result<double> number_in_cell(std::string_view cell, bool decimal_commas) {
  const auto text = trim(cell);
  if (!decimal_commas) return parse_number(text);
  std::string number(text);
  std::size_t digits_of_group = 0;
  bool grouped = false, wrong = false;
  for (std::size_t i = std::min(text.find(','), text.size()); i-- > 0;) {
    if (number[i] == '.') {
      wrong = wrong || digits_of_group != 3;
      grouped = true;
      digits_of_group = 0;
      number.erase(i, 1);
    } else if (is_digit(number[i])) {
      ++digits_of_group;
    }
  }
  if (wrong || (grouped && (digits_of_group == 0 || digits_of_group > 3))) {
    return data_error("'" + clean_text(text) + "' is no number");
  }
  if (const auto at = number.find(','); at != std::string::npos) number[at] = '.';
  return parse_number(number);
}

std::optional<std::string> to_utc(std::string_view text) {
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  std::size_t at = 19;
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    at = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
  }
  const auto offset = offset_s(text.substr(at));
  if (!offset || *year < 1970 || *month < 1 || *month > 12 || *day < 1 || *day > 31 || *hour > 23 || *minute > 59 ||
      *second > 60) {
    return std::nullopt;
  }
  std::tm date{};
  date.tm_year = *year - 1900;
  date.tm_mon = *month - 1;
  date.tm_mday = *day;
  date.tm_hour = *hour;
  date.tm_min = *minute;
  date.tm_sec = *second;
  return format_utc(static_cast<double>(timegm(&date) - *offset));
}

void keep_name(Run& run) { run.notes.emplace_back(report::kNameNote, run.workload); }

void set_processor(Session& session, const std::string& name, std::int64_t compute_units, double max_clock_hz) {
  DeviceInfo cpu;
  cpu.id = cpu.backend = "cpu";
  cpu.name = clean_text(name);
  if (compute_units > 0 && compute_units < 1'000'000) cpu.compute_units = static_cast<int>(compute_units);
  if (max_clock_hz > 0 && std::isfinite(max_clock_hz)) cpu.max_clock_hz = max_clock_hz;
  session.machine.cpu = cpu.name;
  session.machine.devices.push_back(std::move(cpu));
}

void Digest::add(std::string_view text) {
  for (const char letter : text) {
    hash_ ^= static_cast<unsigned char>(letter);
    hash_ *= 1099511628211ULL;
  }
}

std::string Digest::text() const { return fmt::format("{:016x}", hash_); }

std::string digest(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.text();
}

}  // namespace warpmark::exchange
