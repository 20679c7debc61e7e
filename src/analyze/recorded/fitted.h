// What recording costs: the values and what they rest on stand in fitted.cpp.
#pragma once

namespace warpmark::analyze {

extern const double kSlowerWithShapes;     ///< times as long runs a host-bound program that Kineto records with shapes
extern const double kSlowerWithoutShapes;  ///< without
extern const double kMeasuredShare;        ///< of a stretch, at most, where the cost was measured

extern const double kUsualLaunchNs;        ///< quarter of launch calls are shorter, on a usual host
extern const double kMostLaunchNs;         ///< on the slowest host that was seen
extern const double kInflationOfSlowness;  ///< exponent of a host's slowness

}  // namespace warpmark::analyze
