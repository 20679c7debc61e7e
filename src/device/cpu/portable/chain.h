// A chain of dependent instructions whose length in cycles is known, by which the clock of a core is measured.
#pragma once

namespace warpmark::device {

/// An exclusive or of registers: one cycle on any of Arm's Neoverse cores (their software optimization guides, "ALU,
/// basic").
inline constexpr double kCyclesPerLink = 1;

/// Runs `blocks` times 64 links; at least one.
inline void run_chain(int blocks) {
  unsigned value = 3;
  const unsigned other = 5;
  do {
#pragma GCC unroll 64
    for (int link = 0; link < 64; ++link) {
      value ^= other;
      asm volatile("" : "+r"(value));  // so that the compiler takes none of the links together
    }
  } while (--blocks > 0);
}

}  // namespace warpmark::device
