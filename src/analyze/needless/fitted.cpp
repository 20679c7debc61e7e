// What is left of kernels after the usual cure.
// Moved by a third, each tells by the scores whether it still matters: bench/score_analysis.py --refit. So they are
// data of the program, and no other file sees their values when it is compiled.
#include "analyze/needless/fitted.h"

namespace warpmark::analyze {

// FP32 units to 16-bit tensor cores. H100: 67 to 989 TFLOP/s dense (NVIDIA H100 data sheet); products of useful size
// reach 0.8 of the first and 0.6 of the second, convolutions less as they move more bytes a FLOP. FP64 to TF32: 67 to
// 495. TF32 to 16 bits: half the bytes, twice the rate. A product with a vector: half the bytes, by kernels that reach
// more of the bandwidth; 0.3 in one program of FP32 decoding.
const float kSimtToTensor = 0.08F;
const float kSimtConvolutionToTensor = 0.13F;
const float kTf32ToHalf = 0.55F;
const float kDoubleToSingle = 0.14F;
const float kWideVector = 0.4F;

// Other kernels of FP32 that follow the products into 16 bits; a fused attention kernel on FP32 inputs, to one on
// tensor cores. From the 114 pairs of the calibrating set.
const float kBytesIn16Bits = 0.55F;
const float kWideAttention = 0.15F;

// A fused Adam moves 28 B a parameter, ten separate kernels about 100 B.
const float kUnfusedOptimizer = 0.35F;
const float kForeachOptimizer = 0.6F;

// Gathered rows used in place instead of written and read again. A gather is bound by its blocks, one a row (0.60 ns
// each in three programs), the reduction after it by the bytes of the rows in order: reading them out of order
// took 1.75 and 1.9 times as long. Where atomics read and wrote the results once for every row, far less is left.
const float kGather = 0.35F;
const double kReadOutOfOrder = 1.8;
const float kScatteredGather = 0.12F;
const float kReducedScatter = 0.1F;

// Of the longest kernel of a chain: what a fused chain still has to move, and of the sum: its arithmetic, and results
// that others need. Of own kernels 1.05 and 2.1 in two programs, the second with a stencil. In training a reduction
// ends a pass: the backward pass reads what was normalised, gradients are sums over the batch. Without a backward pass
// a row's reduction ends no pass while the row fits into registers, but what is then reduced in the other direction is
// read again, by one pass for a maximum and a sum.
const double kChainPasses = 1.25;
const double kChainRest = 0.03;
const double kOwnPasses = 1.5;
const double kPassOfReduction = 0.6;
const double kReductionAgain = 0.1;

// First principles: a layout that is kept needs no conversion, one call stands for about ten, a fused attention feeds
// its products from registers, one-hot rows are picked by their number.
const float kLayout = 0.1F;
const float kFusedDispatch = 0.1F;
const float kScoreProduct = 0.45F;
const float kPickedRows = 0.1F;

}  // namespace warpmark::analyze
