#include "accuracy/text/ter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "accuracy/text/bleu_chrf.h"
#include "accuracy/text/unicode.h"

namespace warpmark::accuracy {
namespace {

using Words = std::vector<std::uint32_t>;

// Tercom's limits, and sacreBLEU's on the candidates.
constexpr std::size_t kLongestShift = 10, kFarthestShift = 50, kMostCandidates = 1000;
constexpr std::int64_t kBeam = 25;
constexpr std::int64_t kUnreached = 10'000'000'000'000'000;

enum class Edit : char { none, substitute, insert, remove, undefined };

struct EditDistance {
  std::int64_t edits = 0;
  std::vector<Edit> trace;  ///< from the beginning; how the hypothesis is got from the reference, step by step
};

/// Levenshtein distance within a beam around the diagonal. Prefers no edit or substitution, then removal, then
/// insertion.
class BeamDistance {
 public:
  explicit BeamDistance(std::span<const std::uint32_t> reference) : reference_(reference) {}

  [[nodiscard]] EditDistance of(const Words& hypothesis, bool with_trace) {
    const std::size_t columns = reference_.size() + 1;
    const auto rows = static_cast<std::int64_t>(hypothesis.size());
    costs_.assign((hypothesis.size() + 1) * columns, kUnreached);
    edits_.assign(costs_.size(), Edit::undefined);
    for (std::size_t j = 0; j < columns; ++j) {
      costs_[j] = static_cast<std::int64_t>(j);
      edits_[j] = Edit::insert;
    }
    const double ratio = rows > 0 ? static_cast<double>(reference_.size()) / static_cast<double>(rows) : 1;
    const std::int64_t beam = static_cast<double>(kBeam) < ratio / 2
                                  ? static_cast<std::int64_t>(std::ceil(ratio / 2 + static_cast<double>(kBeam)))
                                  : kBeam;
    for (std::int64_t i = 1; i <= rows; ++i) {
      const auto diagonal = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * ratio));
      const std::int64_t first = std::max<std::int64_t>(0, diagonal - beam);
      const std::int64_t last = i == rows ? static_cast<std::int64_t>(columns)
                                          : std::min<std::int64_t>(static_cast<std::int64_t>(columns), diagonal + beam);
      fill_row(hypothesis, static_cast<std::size_t>(i), static_cast<std::size_t>(first), last);
    }
    EditDistance result{.edits = costs_.back(), .trace = {}};
    if (with_trace) result.trace = trace(hypothesis.size());
    return result;
  }

 private:
  void fill_row(const Words& hypothesis, std::size_t i, std::size_t first, std::int64_t last) {
    const std::size_t columns = reference_.size() + 1;
    std::int64_t* row = &costs_[i * columns];
    const std::int64_t* above = row - columns;
    Edit* edits = &edits_[i * columns];
    for (std::size_t j = first; static_cast<std::int64_t>(j) < last; ++j) {
      if (j == 0) {
        row[0] = above[0] + 1;
        edits[0] = Edit::remove;
        continue;
      }
      const bool same = hypothesis[i - 1] == reference_[j - 1];
      const auto offer = [&](std::int64_t cost, Edit edit) {
        if (cost < row[j]) {
          row[j] = cost;
          edits[j] = edit;
        }
      };
      offer(above[j - 1] + (same ? 0 : 1), same ? Edit::none : Edit::substitute);
      offer(above[j] + 1, Edit::remove);
      offer(row[j - 1] + 1, Edit::insert);
    }
  }

  [[nodiscard]] std::vector<Edit> trace(std::size_t rows) const {
    std::vector<Edit> steps;
    for (std::size_t i = rows, j = reference_.size(); i > 0 || j > 0;) {
      const Edit edit = edits_[i * (reference_.size() + 1) + j];
      WM_CHECK(edit != Edit::undefined);
      steps.push_back(edit);
      if (edit != Edit::insert) --i;
      if (edit != Edit::remove) --j;
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  std::span<const std::uint32_t> reference_;
  std::vector<std::int64_t> costs_;
  std::vector<Edit> edits_;
};

struct Alignment {
  std::vector<std::int64_t> of_reference;  ///< place in the hypothesis; -1 before its first word
  std::vector<bool> reference_error;
  std::vector<bool> hypothesis_error;
};

/// The trace is how the hypothesis becomes the reference; rewritten the other way, insertions are removals.
Alignment alignment_of(const std::vector<Edit>& trace) {
  Alignment alignment;
  std::int64_t place = -1;
  for (const Edit edit : trace) {
    const bool in_hypothesis = edit != Edit::insert, in_reference = edit != Edit::remove;
    if (in_hypothesis) {
      ++place;
      alignment.hypothesis_error.push_back(edit != Edit::none);
    }
    if (in_reference) {
      alignment.of_reference.push_back(place);
      alignment.reference_error.push_back(edit != Edit::none);
    }
  }
  return alignment;
}

Words shifted(const Words& words, std::size_t start, std::size_t length, std::size_t target) {
  Words result = words;
  const auto at = [&](std::size_t i) { return result.begin() + static_cast<std::ptrdiff_t>(i); };
  if (target < start) {
    std::rotate(at(target), at(start), at(start + length));
  } else if (target > start + length) {
    std::rotate(at(start), at(start + length), at(target));
  } else {
    std::rotate(at(start), at(start + length), at(std::min(words.size(), length + target)));
  }
  return result;
}

struct Shift {
  std::int64_t gain = 0;
  std::size_t length = 0;
  std::size_t start = 0;
  std::size_t target = 0;
  Words words;
};

/// Tercom's order: the largest gain, then the longest, then the earliest, then to the earliest place.
bool is_better_shift(const Shift& a, const Shift& b) {
  return std::tuple(-a.gain, b.length, a.start, a.target, b.words) <
         std::tuple(-b.gain, a.length, b.start, b.target, a.words);
}

bool any_error(const std::vector<bool>& errors, std::size_t begin, std::size_t length) {
  const auto first = errors.begin() + static_cast<std::ptrdiff_t>(begin);
  return std::find(first, first + static_cast<std::ptrdiff_t>(length), true) !=
         first + static_cast<std::ptrdiff_t>(length);
}

class ShiftSearch {
 public:
  explicit ShiftSearch(std::span<const std::uint32_t> reference) : reference_(reference), distance_(reference) {}

  [[nodiscard]] std::int64_t edits(Words words) {
    std::int64_t shifts = 0;
    for (;;) {
      std::optional<Shift> best = best_shift(words);
      if (candidates_ >= kMostCandidates || !best || best->gain <= 0) break;
      ++shifts;
      words = std::move(best->words);
    }
    return shifts + distance_.of(words, false).edits;
  }

 private:
  std::optional<Shift> best_shift(const Words& words) {
    const EditDistance before = distance_.of(words, true);
    const Alignment alignment = alignment_of(before.trace);
    std::optional<Shift> best;
    for (std::size_t h = 0; h < words.size(); ++h) {
      for (std::size_t r = 0; r < reference_.size(); ++r) {
        if ((h > r ? h - r : r - h) > kFarthestShift) continue;
        for (std::size_t length = 1; length <= kLongestShift; ++length) {
          if (words[h + length - 1] != reference_[r + length - 1]) break;
          try_shifts(words, alignment, before.edits, {.length = length, .start = h, .target = r, .words = {}}, best);
          if (candidates_ >= kMostCandidates) return best;
          if (h + length == words.size() || r + length == reference_.size()) break;
        }
      }
    }
    return best;
  }

  /// `match.target` is where the run stands in the reference.
  void try_shifts(const Words& words, const Alignment& alignment, std::int64_t edits_before, const Shift& match,
                  std::optional<Shift>& best) {
    const std::size_t start = match.start, length = match.length, in_reference = match.target;
    if (!any_error(alignment.hypothesis_error, start, length)) return;
    if (!any_error(alignment.reference_error, in_reference, length)) return;
    const std::int64_t aligned = alignment.of_reference[in_reference];
    if (aligned >= static_cast<std::int64_t>(start) && aligned < static_cast<std::int64_t>(start + length)) return;
    std::int64_t previous = -1;
    for (std::int64_t offset = -1; offset < static_cast<std::int64_t>(length); ++offset) {
      const std::int64_t place = static_cast<std::int64_t>(in_reference) + offset;
      std::int64_t target = 0;
      if (place >= static_cast<std::int64_t>(alignment.of_reference.size())) break;
      if (place >= 0) target = alignment.of_reference[static_cast<std::size_t>(place)] + 1;
      if (target == previous) continue;
      previous = target;
      Shift shift{0, length, start, static_cast<std::size_t>(target), {}};
      shift.words = shifted(words, start, length, shift.target);
      shift.gain = edits_before - distance_.of(shift.words, false).edits;
      ++candidates_;
      if (!best || is_better_shift(shift, *best)) best = std::move(shift);
    }
  }

  std::span<const std::uint32_t> reference_;
  BeamDistance distance_;
  std::size_t candidates_ = 0;
};

}  // namespace

std::int64_t translation_edits(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference) {
  if (reference.empty()) return static_cast<std::int64_t>(hypothesis.size());
  return ShiftSearch(reference).edits({hypothesis.begin(), hypothesis.end()});
}

std::vector<std::uint32_t> TerCounter::words(std::string_view line) {
  const std::string text = tercom_tokenized(stripped_right(line), options_);
  Words result;
  for (const auto word : words_of(text)) result.push_back(vocabulary_.number_of(word));
  return result;
}

TerStatistics TerCounter::count(std::string_view hypothesis, std::span<const std::string> references) {
  const Words ours = words(hypothesis);
  TerStatistics statistics;
  double fewest = std::numeric_limits<double>::infinity(), lengths = 0;
  for (const auto& reference : references) {
    const Words theirs = words(reference);
    lengths += static_cast<double>(theirs.size());
    fewest = std::min(fewest, static_cast<double>(translation_edits(ours, theirs)));
  }
  if (references.empty()) return statistics;
  statistics.edits = fewest;
  statistics.reference_length = lengths / static_cast<double>(references.size());
  return statistics;
}

double ter_of(const TerStatistics& sums) {
  if (sums.reference_length > 0) return 100 * (sums.edits / sums.reference_length);
  return sums.edits > 0 ? 100 : 0;
}

std::string ter_signature(const TercomOptions& options, std::size_t references) {
  return fmt::format("nrefs:{}|case:{}|tok:tercom|norm:{}|punct:{}|asian:{}|version:{}",
                     references == 0 ? "var" : std::to_string(references), options.case_sensitive ? "mixed" : "lc",
                     options.normalized ? "yes" : "no", options.punctuation ? "yes" : "no",
                     options.asian ? "yes" : "no", kSacrebleuVersion);
}

}  // namespace warpmark::accuracy
