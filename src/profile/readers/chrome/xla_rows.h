// The rows of a Chrome trace by XLA's profiler, and its events in Kineto's terms. XLA gives an event neither category
// nor stream: both follow from the row it stands in, and the rows are named at the head of the list.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "profile/readers/chrome/kineto_event.h"
#include "profile/source.h"

namespace warpmark::profile {

/// Threads may translate at once; add_name is for one, before.
class XlaRows {
 public:
  /// An event of phase 'M'.
  void add_name(const EventFields& fields);
  /// Changes the fields to what Kineto would have written. False if there is no event to keep. Texts may then point
  /// into `scratch`, which lives as long as the fields.
  [[nodiscard]] bool translate(EventFields& fields, std::string& scratch) const;

 private:
  enum class RowKind : std::uint8_t {
    unknown,  ///< of a GPU, without a name
    stream,
    derived,  ///< "XLA Ops", "Steps", ...: the streams' work summed up, not to be counted again
    steps,
  };
  struct Gpu {
    int index = 0;
    std::string digits;
    std::map<std::int64_t, RowKind> rows;  ///< by thread
  };
  void translate_name_row(EventFields& fields) const;

  std::map<std::int64_t, Gpu> gpus_;  ///< by process
};

/// Reads the rows at the head of the list of events that name processes and threads. `text` is what of the list was
/// read already; it grows up to where these rows end.
[[nodiscard]] Status read_xla_names(ByteSource& source, std::string& text, XlaRows& rows);

/// Whether the text of a name row is that of a device or a host of XLA: "/device:GPU:0", "/host:CPU".
[[nodiscard]] bool is_xla_process(std::string_view name);

}  // namespace warpmark::profile
