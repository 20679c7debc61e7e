// The rounds of a comparison: their order, what each gave in a file that survives a kill, and how often equal variants
// would be called different.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/lines/line_file.h"
#include "base/result.h"
#include "model/json/json_parts.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "validate/compare/compare_run.h"
#include "validate/judge/planning.h"

namespace warpmark::validate {
namespace {

std::int64_t runs_per_round(Interleave interleave) { return interleave == Interleave::block ? 4 : 2; }

/// Fisher and Yates, by hand: std::shuffle may differ between libraries, and a resumed comparison must not.
void shuffle(std::vector<int>& order, std::uint64_t seed, std::int64_t round) {
  const auto stream = stats::derive_seed(seed, static_cast<std::uint64_t>(round));
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[static_cast<std::size_t>(stats::random_unit(stream, i) * static_cast<double>(i + 1))]);
  }
}

/// The first line of a journal.
struct JournalHead {
  std::string id, request;
};
constexpr Field kHeadFields[] = {field<&JournalHead::id>("id"), field<&JournalHead::request>("request")};
constexpr RecordOf<JournalHead> kHead{"head", "", kHeadFields, "warpmark.compare-journal/1"};

constexpr Field kSampleFields[] = {
    field<&AbSample::slot, &Slot::variant>("variant"), field<&AbSample::slot, &Slot::round>("round"),
    field<&AbSample::slot, &Slot::ends_round>("ends_round"), field<&AbSample::run>("run", "", kRun)};
constexpr RecordOf<AbSample> kSample{"sample", "", kSampleFields};

constexpr int kRelabelings = 2000;
constexpr std::int64_t kFewestRounds = 7;

/// Whether equal variants would have been called different at any look.
bool false_alarm(const std::vector<double>& a, const std::vector<double>& b, Better better,
                 const VerdictOptions& options) {
  const auto first = options.sequential ? static_cast<std::size_t>(kFewestRounds) : a.size();
  for (std::size_t n = first; n <= a.size(); ++n) {
    const auto effect = effect_of(std::span(a).first(n), std::span(b).first(n), options);
    const Verdict verdict = verdict_of(effect, effect.p.value_or(1), better, options);
    if (verdict == Verdict::same) return false;  // it would have stopped here
    if (verdict != Verdict::inconclusive) return true;
  }
  return false;
}

double false_positive_rate(const MetricVerdict& metric, const VerdictOptions& options) {
  int alarms = 0;
  for (int i = 0; i < kRelabelings; ++i) {
    auto a = metric.a, b = metric.b;
    const auto seed = stats::derive_seed(options.seed, static_cast<std::uint64_t>(i));
    for (std::size_t round = 0; round < a.size(); ++round) {
      if (stats::random_bits(seed, round) % 2 == 1) std::swap(a[round], b[round]);
    }
    alarms += false_alarm(a, b, metric.better, options) ? 1 : 0;
  }
  return static_cast<double>(alarms) / kRelabelings;
}

/// Lag 1 of the runs in the order taken.
std::optional<double> autocorrelation(const Comparison& comparison, std::size_t metric) {
  std::vector<double> values;
  for (const auto& sample : comparison.samples) values.push_back(sample.values[metric]);
  return values.empty() ? std::nullopt : stats::summarize(values).autocorrelation;
}

}  // namespace

std::vector<int> round_order(Interleave interleave, std::uint64_t seed, std::int64_t round) {
  std::vector<int> order = interleave == Interleave::block ? std::vector<int>{0, 0, 1, 1} : std::vector<int>{0, 1};
  shuffle(order, seed, round);
  return order;
}

std::vector<int> shuffled(int n, std::uint64_t seed, std::int64_t round) {
  WM_CHECK(n >= 1);
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, seed, round);
  return order;
}

std::int64_t Schedule::slots() const { return rounds * runs_per_round(interleave); }

Slot Schedule::slot(std::int64_t index) const {
  WM_CHECK(index >= 0 && index < slots());
  if (interleave == Interleave::none) {
    return {.variant = index < rounds ? 0 : 1, .round = index % rounds, .ends_round = index >= rounds};
  }
  const std::int64_t size = runs_per_round(interleave);
  const std::int64_t round = index / size, place = index % size;
  return {.variant = round_order(interleave, seed, round)[static_cast<std::size_t>(place)],
          .round = round,
          .ends_round = place == size - 1};
}

Result<Journal> Journal::open(const std::string& path, const std::string& request, const std::string& id, bool fresh) {
  WM_TRY(make_folder(std::filesystem::absolute(path).parent_path()));
  WM_ASSIGN(auto file, LineFile::open(path));
  Journal journal(std::move(file));
  if (!journal.file_.hold()) {
    return environment_error("another process runs this comparison: it holds " + path,
                             "wait for it to end, or change --seed to run a second one");
  }
  if (!fresh) WM_TRY(journal.read(request));
  if (journal.id_.empty()) {
    journal.samples_.clear();
    journal.pieces_.clear();
    journal.count_ = 0;
    WM_TRY(journal.file_.shorten(0));
    journal.id_ = id;
    WM_TRY(journal.file_.append(dump_json(write(kHead, {id, request}), -1)));
  }
  return journal;
}

/// Leaves id_ empty where the journal must be started anew.
Status Journal::read(const std::string& request) {
  WM_ASSIGN(const auto text, file_.read());
  std::int64_t number = 0;
  std::string id;
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = take_line(rest);
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format("{} line {}", file_.path().string(), number);
    WM_ASSIGN(const auto json, parse_json(line, place));
    if (number == 1) {
      const auto head = warpmark::read(kHead, json);
      if (!head.ok() || head->request != request) return {};
      id = head->id;
      continue;
    }
    if (json.contains("complete")) return {};
    if (json.contains("piece")) {
      pieces_.push_back(samples_.size());
      continue;
    }
    auto sample = warpmark::read(kSample, json);
    if (!sample.ok()) return data_error(place + ": " + sample.error().what, "start over with --fresh");
    samples_.push_back(std::move(*sample));
  }
  count_ = samples_.size();
  id_ = id;
  return {};
}

Status Journal::append(const AbSample& sample) {
  WM_TRY(file_.append(dump_json(write(kSample, sample), -1)));
  ++count_;
  return {};
}

Status Journal::end_piece() {
  if (count_ == (pieces_.empty() ? 0 : pieces_.back())) return {};
  WM_TRY(file_.append(dump_json(Json{{"piece", count_}}, -1)));
  pieces_.push_back(count_);
  return {};
}

Status Journal::complete() { return file_.append(R"({"complete":true})"); }

std::vector<MetricCalibration> calibrate(const Comparison& comparison, const VerdictOptions& options) {
  std::vector<MetricCalibration> result;
  for (std::size_t i = 0; i < comparison.metrics.size(); ++i) {
    const auto& metric = comparison.metrics[i];
    if (metric.auxiliary) continue;  // no part of any decision
    const Effect effect = effect_of(metric.a, metric.b, options);
    if (!effect.undefined.empty() || effect.n < kFewestRounds || metric.a.size() != metric.b.size()) continue;
    MetricCalibration calibration{.id = metric.id, .spread = effect.stdev};
    calibration.false_positive_rate = false_positive_rate(metric, options);
    calibration.detectable = effect.stdev > 0 ? detectable_effect(effect.worth_stdev, effect.n, options) : 0;
    calibration.rounds_for_effect =
        rounds_needed(effect.worth_stdev, std::log1p(options.effect), options, static_cast<double>(effect.n - 1));
    calibration.autocorrelation = autocorrelation(comparison, i);
    result.push_back(std::move(calibration));
  }
  return result;
}

}  // namespace warpmark::validate
