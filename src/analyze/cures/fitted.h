// What is left after cures that are no kernel's: the values and what they rest on stand in fitted.cpp.
#pragma once

namespace warpmark::analyze {

extern const double kEmptyKernelNs;   ///< of a kernel, whatever the batch
extern const double kNeededByMatrix;  ///< of what a matrix kernel of a small batch occupies, what a full one needs

extern const double kUnitsLeft;  ///< of units of sharding that are matrices, where they are layers
extern const double kNormsLeft;  ///< of the host's time for norms over all ranks, on each by itself

extern const double kKernelTimeLeftOfCells;  ///< of the kernels of a loop of cells, in one call
extern const double kDispatchLeftOfCells;    ///< of the host's time for them

extern const double kLeftWithWorkers;      ///< of loading in the program's own process, by workers
extern const double kMostMoreWorkers;      ///< times, that more workers gain at most
extern const double kWorkersReach;         ///< of what the wait foretells
extern const double kWorkersReachOfRanks;  ///< the same of several ranks

extern const double kCompiledAway;  ///< of dispatching, by a compiler

extern const float kSimtToTf32;  ///< of a product on FP32 units, in TF32

extern const double kLeftWhenAlignedOnHopper;  ///< the same from Hopper on
extern const double kLeftWhenAligned;          ///< of a product that reads less than 16 bytes at once, padded

extern const double kDispatchUnderAutocast;  ///< times the host's way after a product

}  // namespace warpmark::analyze
