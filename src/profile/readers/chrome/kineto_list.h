// Reads the list of events of a Chrome trace with several threads: one unpacks and cuts the text into blocks between
// events, the others parse blocks, the caller's joins them in order.
#pragma once

#include <string>

#include "base/result.h"
#include "profile/readers/chrome/kineto_merge.h"
#include "profile/trace_reader.h"

namespace warpmark::profile {

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

}  // namespace warpmark::profile
