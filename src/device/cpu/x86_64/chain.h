// A chain of dependent instructions whose length in cycles is known, by which the clock of a core is measured.
#pragma once

namespace warpmark::device {

/// IMUL R32, R32: on Intel since Nehalem, on AMD since Zen (Fog, "Instruction tables"; uops.info).
inline constexpr double kCyclesPerLink = 3;

/// Runs `blocks` times 64 links; at least one.
inline void run_chain(int blocks) {
  unsigned value = 3;
  asm volatile(
      "1:\n"
      ".rept 64\n"
      "imull %[value], %[value]\n"
      ".endr\n"
      "decl %[blocks]\n"
      "jnz 1b\n"
      : [value] "+r"(value), [blocks] "+r"(blocks)
      :
      : "cc");
}

}  // namespace warpmark::device
