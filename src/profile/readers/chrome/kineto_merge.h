// Joins the batches of the parsing threads, in the order of the file, into one timeline.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile/timeline.h"
#include "profile/catalog.h"
#include "profile/readers/chrome/kineto_event.h"
#include "profile/timeline_builder.h"

namespace warpmark::profile {

/// Not thread safe.
class KinetoMerge {
 public:
  KinetoMerge(TimelineBuilder& builder, std::size_t parsers);

  /// `parser` is the number of the KinetoParser that made the batch. Its batches come in the order it made them, all of
  /// them: those whose events are not wanted go to skip().
  void add(std::size_t parser, const EventBatch& batch);
  void skip(std::size_t parser, const EventBatch& batch);
  /// After the last batch: names of threads, counts of flaws.
  void finish();
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Of the builder's tracks: see split_by_rank().
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }

 private:
  struct Name {
    NameId id = kNotYet;
    std::uint8_t flaws = 0;
  };
  /// What a parser's numbers mean.
  struct Words {
    std::vector<std::string_view> texts;
    std::vector<Name> names;  ///< as long as texts
    std::vector<std::uint32_t> tracks;
    std::vector<std::uint32_t> shapes;
  };
  static constexpr NameId kNotYet = 0xFFFFFFFF;

  [[nodiscard]] NameId name_of(Words& words, std::uint32_t text);
  void add_counters(Words& words, const EventBatch& batch);
  void count_flows();
  void count_flaws();
  void close_brackets();
  void name_tracks();
  void note_rank(std::uint32_t track, int rank);

  TimelineBuilder& builder_;
  std::vector<Words> words_;
  std::vector<std::string> categories_;  ///< that are not known
  std::vector<int> ranks_;               ///< by the builder's track
  std::vector<std::uint64_t> flows_;
  std::vector<RawTrackName> track_names_;
  std::vector<RawBracket> brackets_;           ///< with the index of the event in the builder
  std::map<std::string, double> last_memory_;  ///< by series: so that only changes are kept
  std::array<std::int64_t, static_cast<std::size_t>(Flaw::count)> flaws_{};
  std::array<std::string, static_cast<std::size_t>(Flaw::count)> examples_;
  std::int64_t rows_ = 0;
};

inline constexpr int kNoRank = -1;
inline constexpr int kSeveralRanks = -2;

/// One timeline for each rank, if at least two ranks used GPUs and the rank of each stream is known; else the whole.
/// `ranks` are those of the tracks; events of tracks without one go to the first rank.
[[nodiscard]] std::vector<Timeline> split_by_rank(Timeline whole, const std::vector<int>& ranks);

class XlaRows;

struct EventListText {
  std::string rest;        ///< from the ']' of the list on; empty if the text ends before
  std::int64_t bytes = 0;  ///< of text that was read here
};

/// `first` is the text behind the '[' that was read already. `merge` must have been made for parsers_needed(options).
/// A text of one block is parsed by the caller's thread alone. `xla` is of a trace by XLA's profiler.
[[nodiscard]] Result<EventListText> read_event_list(ByteSource& source, std::string first, const ReadOptions& options,
                                                    KinetoMerge& merge, const XlaRows* xla = nullptr);
[[nodiscard]] std::size_t parsers_needed(const ReadOptions& options);

// Chrome traces (JSON), above all those of the PyTorch profiler and its library Kineto: old and new schema, and lists
// of events without anything around them.

class XlaRows;

extern const TraceReader kKinetoReader;

/// With `xla` the events are those of XLA's profiler: the rows are named in it first.
[[nodiscard]] Status read_chrome_trace(ByteSource& source, const ReadOptions& options, ProfileSession& session,
                                       XlaRows* xla = nullptr);

}  // namespace warpmark::profile
