// What is left after cures that are no kernel's.
// Moved by a third, each tells by the scores whether it still matters: bench/score_analysis.py --refit. So they are
// data of the program, and no other file sees their values when it is compiled.
#include "analyze/cures/fitted.h"

namespace warpmark::analyze {

// A kernel's start and end and one access to memory: the shortest in the recordings take 1.0 to 1.6 us, those with a
// hundred blocks 2 us. This and the next from ten programs whose gains they foretell, at the batch that was chosen,
// within a factor of 1.45. Small tiles wait for memory (weights are read for few rows).
const double kEmptyKernelNs = 2'500;
const double kNeededByMatrix = 0.5;

// A layer of a transformer has four to seven matrices; a synchronized norm has about ten operators and a collective.
// Three programs: 1.16 to 1.39 times what was foretold (the bias of their calibration).
const double kUnitsLeft = 1.0 / 6;
const double kNormsLeft = 0.15;

// Of two programs measured with nn.GRU in place of a loop of GRUCell, hidden sizes 256 and 512.
const double kKernelTimeLeftOfCells = 0.6;
const double kDispatchLeftOfCells = 0.03;

// Workers load ahead side by side, but each on one thread (torch.utils.data.DataLoader), where loading in the program's
// own process takes all threads of PyTorch's pool: twelve workers were seen to deliver about four times as fast as the
// process itself. Where workers load already, more of them gain no more than they are more: two were seen to become 12
// or 14. Of seven programs to which workers were added one reached what the wait foretells, the others 0.5 to 0.8 of
// it: what the loop itself does for each batch stays. Ranks share the processors: middle of six programs on two GPUs.
const double kLeftWithWorkers = 0.25;
const double kMostMoreWorkers = 7;
const double kWorkersReach = 0.86;
const double kWorkersReachOfRanks = 0.77;

// Compiling removes Python and operators of what it fuses, but adds guards and calls of its own: 11 to 34 % of the step
// went away in five programs.
const double kCompiledAway = 0.25;

// FP32 units to tensor cores on TF32: 67 to 495 TFLOP/s dense (NVIDIA H100 data sheet), and FP32's bytes.
const float kSimtToTf32 = 0.22F;

// What the host does for a product under autocast, to what it does without: forward two casts a layer (input and
// weight) and backward two, which are four operators more for three products. Programs that were limited by the host
// once their products had 16 bits took 1.37 times as long as the host had for the step in FP32 (middle of eleven).
const double kDispatchUnderAutocast = 2.5;

// Tensor cores fed by narrow loads are seldom faster than half of their rate with wide ones (NVIDIA, "Matrix
// Multiplication Background User's Guide", section "Tensor Core Requirements"); padding itself costs something, too. On
// an H100 fourteen products of 16 bits (PyTorch 2.11) took 0.13 to 0.32 of the time when padded, 0.18 in the middle; a
// step of which they were 84 % was 3.5 times as fast.
const double kLeftWhenAligned = 0.6;
const double kLeftWhenAlignedOnHopper = 0.18;

}  // namespace warpmark::analyze
