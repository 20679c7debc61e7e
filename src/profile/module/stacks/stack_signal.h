// Tells the sampler of Python stacks in this process (workers/hook/_warpmark_stacks.py) when records are taken: a
// letter into the pipe that it sleeps on.
#pragma once

namespace warpmark::profile::module {

enum class StackPhase : char { recording = 'R', probing = 'P', off = '0' };

/// From one thread. Without a sampler (no Python, or not asked for) nothing happens.
class StackSignal {
 public:
  StackSignal() = default;
  ~StackSignal();
  StackSignal(const StackSignal&) = delete;
  StackSignal& operator=(const StackSignal&) = delete;

  void tell(StackPhase phase);

 private:
  int pipe_ = -1;
};

}  // namespace warpmark::profile::module
