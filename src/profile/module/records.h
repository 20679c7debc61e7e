// CUPTI's activity records as events of a recording.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <unordered_map>

#include "profile/module/call_log.h"
#include "profile/module/cupti_library.h"
#include "profile/module/ranges.h"
#include "profile/recording/writer.h"

namespace warpmark::profile::module {

/// Not thread safe.
class RecordTranslator {
 public:
  RecordTranslator(const CuptiLibrary& cupti, recording::RecordingWriter& writer) : cupti_(cupti), writer_(writer) {}
  void add(const CUpti_Activity& record);
  /// A call that we timed ourselves, on the thread with this system id.
  void add(std::int64_t thread_id, const CallRecord& call);
  void add(const NamedRange& range);
  /// The writer began anew: what was named to it is to be named again.
  void forget() {
    api_names_.clear();
    kernel_names_.clear();
  }
  /// What ended before this time is of an earlier recording and left out: CUPTI keeps buffers that are not full, and
  /// hands them out with later ones.
  void begin_at(std::int64_t begin_ns) { begin_ns_ = begin_ns; }
  /// What was launched by calls after this one is left out: the part that is recorded has ended.
  void end_at(std::uint32_t correlation) { last_ = correlation; }
  /// While on, what is added is not written.
  void discard(bool on) { discarding_ = on; }
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }  ///< kinds nobody asked for, times that make no sense

 private:
  void kernel(const CUpti_ActivityKernel10& record);
  void copy(const CUpti_ActivityMemcpy6& record);
  void peer_copy(const CUpti_ActivityMemcpyPtoP4& record);
  void set(const CUpti_ActivityMemset4& record);
  void synchronization(const CUpti_ActivitySynchronization2& record);
  void graph(const CUpti_ActivityGraphTrace2& record);
  void memory(const CUpti_ActivityMemory4& record);
  void overhead(const CUpti_ActivityOverhead3& record);
  void blocked(const recording::EventRecord& call_event, const CallRecord& call);

  [[nodiscard]] std::uint32_t stream(std::uint32_t device, std::uint32_t stream_id);
  [[nodiscard]] std::uint32_t thread(std::int64_t thread_id);
  /// A row of this process that is neither a thread nor a stream.
  [[nodiscard]] std::uint32_t row(const char* name);
  /// Counts and refuses an event without a start or with its end before it; refuses one of before the recording.
  [[nodiscard]] bool has_times(std::uint64_t start, std::uint64_t end);
  [[nodiscard]] bool is_wanted(std::uint32_t correlation) const { return correlation <= last_; }

  const CuptiLibrary& cupti_;
  recording::RecordingWriter& writer_;
  std::unordered_map<std::uint64_t, std::uint32_t> api_names_;
  std::unordered_map<const char*, std::uint32_t> kernel_names_;  ///< CUPTI's names live as long as their module
  std::int64_t begin_ns_ = 0;
  std::uint32_t last_ = UINT32_MAX;  ///< correlation
  std::int64_t skipped_ = 0;
  bool discarding_ = false;
};

}  // namespace warpmark::profile::module
