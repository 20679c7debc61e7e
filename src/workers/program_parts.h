// Parts of what a program under the hook says of itself (program_report.h): its steps, loaders, optimizers and modules.
#pragma once

#include <cstdint>
#include <string>

namespace warpmark::workers {

/// One step; seconds on the host's clock, which for a GPU program are those of launching unless phases are
/// synchronized.
struct StepTimes {
  double end_s = 0;  ///< since the hook began
  double wait_s = 0;
  double forward_s = 0;
  double backward_s = 0;
  double optimizer_s = 0;
  std::int64_t samples = 0;  ///< 0: unknown
  std::int64_t backwards = 0;
};

/// Where the main thread of a program without torch waited.
struct HostWait {
  std::string file;
  std::int64_t line = 0;
  std::string function;
  std::string kind;  ///< "sleep", "lock", "disk", "process", "network", "event" or "unknown"
  double seconds = 0;
};

struct LoaderFacts {
  std::string where;  ///< FILE:LINE of the program
  std::string dataset;
  std::int64_t workers = 0;
  std::int64_t batch = 0;  ///< 0: made by the program's own sampler
  std::int64_t prefetch = 0;
  std::int64_t batches = 0;  ///< of an epoch; 0: unknown
  bool pin_memory = false;
  bool persistent = false;
  bool iterable = false;
};

struct OptimizerFacts {
  std::string where;
  std::string name;
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;
  bool cuda = false;
  bool fused = false;
  bool foreach = false;
};

/// A module that the program calls itself.
struct ModuleFacts {
  std::string where;
  std::string name;
  std::string dtype;   ///< "torch.float32"
  std::string device;  ///< "cpu", "cuda"
  std::int64_t parameters = 0;
  std::int64_t convolutions = 0;
  std::int64_t linears = 0;
  std::int64_t attentions = 0;
  bool training = false;
  bool grad = false;
  bool autocast = false;
  std::string compiled;  ///< by the program itself: empty, "default", or "graphs" where that replays CUDA graphs
  bool channels_last = false;
  bool images = false;  ///< an input has four dimensions
};

struct GpuFacts {
  std::string name;
  std::int64_t memory_bytes = 0;
  int major = 0;
};

struct KnobState {
  std::string id;
  std::string value;
  bool in_force = false;
  std::int64_t places = 0;
  std::string said;  ///< why not, or what is worth telling
};

struct KnobPlaces {
  std::string knob;
  std::int64_t places = 0;
};

/// A line of the program that reads a tensor's value within its steps; seen by runs that synchronize phases.
struct ReadFacts {
  std::string where;
  std::string call;  ///< "item", "tolist", "cpu", "numpy"
  std::int64_t count = 0;
  double seconds = 0;  ///< of all of them
};

struct Window {
  std::int64_t steps = 0;
  double seconds = 0;
  std::int64_t samples = 0;
  std::int64_t left_out = 0;  ///< steps that held an evaluation: neither counted nor timed
  double began_s = 0;         ///< on the monotonic clock; 0: unknown
  double before_s = 0;        ///< from the import of torch to its begin: warm-up, compiling
};

}  // namespace warpmark::workers
