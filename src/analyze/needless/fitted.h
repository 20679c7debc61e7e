// What is left of kernels after the usual cure: the values and what they rest on stand in fitted.cpp.
#pragma once

namespace warpmark::analyze {

extern const float kSimtToTensor;             ///< of a product on FP32 units, on tensor cores
extern const float kSimtConvolutionToTensor;  ///< of a convolution, the same
extern const float kTf32ToHalf;               ///< of a product in TF32, in 16 bits
extern const float kDoubleToSingle;           ///< of a product in FP64, in TF32
extern const float kWideVector;               ///< of a product with a vector in FP32, in 16 bits

extern const float kBytesIn16Bits;  ///< of passes over activations
extern const float kWideAttention;  ///< of fused attention on FP32 inputs

extern const float kUnfusedOptimizer;  ///< of updates one by one, together
extern const float kForeachOptimizer;  ///< of updates by lists, in one kernel

extern const float kGather;           ///< of a gather that what reads its rows does itself
extern const double kReadOutOfOrder;  ///< times the reduction that follows, for both
extern const float kScatteredGather;  ///< of a gather before a scatter
extern const float kReducedScatter;   ///< of that scatter

extern const double kChainPasses;      ///< passes of a fused chain, of its longest kernel ...
extern const double kChainRest;        ///< ... and of the sum of its kernels
extern const double kOwnPasses;        ///< the same of kernels of the program's own
extern const double kPassOfReduction;  ///< further passes for a reduction in training
extern const double kReductionAgain;   ///< the same without a backward pass

extern const float kLayout;         ///< of conversions between layouts
extern const float kFusedDispatch;  ///< of the host's time for unfused attention
extern const float kScoreProduct;   ///< of the products of attention in a fused kernel
extern const float kPickedRows;     ///< of a product with one-hot rows, picking them

}  // namespace warpmark::analyze
