// What was measured of the links between GPUs, and between each GPU and the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/metric.h"

namespace warpmark::collectives {

struct LinkOptions {
  std::int64_t bytes = 256 << 20;  ///< of one copy
  int repetitions = 20;
};

/// A rate or a time with the interval of its median.
struct LinkValue {
  double value = 0;
  std::optional<Interval> interval;
  std::vector<double> samples{};  ///< of which it is the median
};

struct GpuPair {
  int from = 0;
  int to = 0;
  bool peer = false;  ///< they reach each other's memory; else copies go through the host
  LinkValue write;    ///< B/s, `from` pushes
  LinkValue read;     ///< B/s, `to` pulls
  LinkValue both;     ///< B/s, both directions together
  LinkValue latency;  ///< s, of a copy of 4 bytes
};

struct HostLink {
  int gpu = 0;
  LinkValue to_gpu;    ///< B/s from pinned memory
  LinkValue from_gpu;  ///< B/s
  LinkValue both;      ///< B/s
  LinkValue latency;   ///< s
};

struct Links {
  std::vector<std::string> gpus;  ///< "0 NVIDIA H200 [0000:00:06.0]"
  std::vector<GpuPair> pairs;
  std::vector<HostLink> hosts;
};

}  // namespace warpmark::collectives
