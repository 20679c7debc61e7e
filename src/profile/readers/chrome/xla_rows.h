// The rows of a Chrome trace by XLA's profiler, and its events in Kineto's terms. XLA gives an event neither category
// nor stream: both follow from the row it stands in, and the rows are named at the head of the list. So do the
// timelines that TensorFlow 1 made of tf.RunMetadata (tensorflow/python/client/timeline.py).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

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
  /// Whether it is a timeline of tf.RunMetadata that shows of GPUs only what their hosts did.
  [[nodiscard]] bool lacks_streams() const;

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
  /// A process of a timeline of tf.RunMetadata: a stream of a GPU, several of them in one row, or a device's host work.
  struct TimelineRow {
    int gpu = -1;
    std::int64_t stream = -1;  ///< its number
    bool of_stream = false;
    bool summed = false;  ///< "stream:all", "memcpy": the numbered streams again
  };
  void add_timeline_row(std::int64_t process, std::string_view name);
  [[nodiscard]] bool translate_timeline(const TimelineRow& row, EventFields& fields) const;
  void translate_name_row(EventFields& fields) const;

  std::map<std::int64_t, Gpu> gpus_;                   ///< by process
  std::map<std::int64_t, TimelineRow> timeline_rows_;  ///< by process
  bool has_numbered_streams_ = false;                  ///< of a timeline of tf.RunMetadata
};

/// Reads the rows at the head of the list of events that name processes and threads. `text` is what of the list was
/// read already; it grows up to where these rows end.
[[nodiscard]] Status read_xla_names(ByteSource& source, std::string& text, XlaRows& rows);

/// Whether the text of a name row is that of a device or a host of XLA: "/device:GPU:0", "/host:CPU".
[[nodiscard]] bool is_xla_process(std::string_view name);
/// "/job:localhost/replica:0/task:0/device:GPU:0/stream:all Compute" of a timeline of tf.RunMetadata.
[[nodiscard]] bool is_timeline_process(std::string_view name);

/// Texts point into the event's.
struct XlaDetails {
  std::string_view kernel, memcpy, memset, alloc, free, residency;  ///< "regs:16 static_shared:0 grid:4096,1,1 ..."
  std::string_view step;                                            ///< of a StepTraceAnnotation: its number
  std::int64_t correlation = 0;
  std::int64_t graph = 0;
  bool of_framework = false;  ///< a range within JAX, TensorFlow or XLA, not of the user
  bool odd = false;           ///< some had no number where one belongs
};

/// `args` with its braces.
[[nodiscard]] XlaDetails xla_details_of(std::string_view args);

/// Set `args.odd` at anything that is no number.
void set_kernel_details(std::string_view details, std::int64_t graph, EventArgs& args);
void set_memcpy_details(std::string_view name, std::string_view details, EventArgs& args);
/// Of a memset, an allocation or what is freed: "kind:device num_bytes:4 async:1".
void set_memory_details(std::string_view details, EventArgs& args);

}  // namespace warpmark::profile
