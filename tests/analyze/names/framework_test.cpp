// What a program is written with, told by the names in its recording.
#include <gtest/gtest.h>

#include "analyze/names/framework.h"
#include "support/timeline_scene.h"

namespace warpmark::analyze {
namespace {

using testing_support::session_of;
using testing_support::TimelineScene;

Framework of_name(const std::string& name) {
  TimelineScene scene;
  scene.launch("void integrate<double, 4>(double4*, double4 const*, int)", 1'000);
  scene.launch(name, 1'000);
  return framework_of(session_of(scene.build()));
}

TEST(FrameworkOf, is_told_by_names) {
  EXPECT_EQ(of_name("saxpy(int, float, float const*, float*)"), Framework::native);
  EXPECT_EQ(of_name("void cub::DeviceReduceKernel<...>"), Framework::native);
  EXPECT_EQ(of_name("_ZN2at6native29vectorized_elementwise_kernelILi4E"), Framework::pytorch);
  EXPECT_EQ(of_name("void at::native::vectorized_elementwise_kernel<4>"), Framework::pytorch);
  EXPECT_EQ(of_name("triton_poi_fused_add_relu_0"), Framework::pytorch);
  EXPECT_EQ(of_name("aten::linear"), Framework::pytorch);
  EXPECT_EQ(of_name("loop_add_fusion_3"), Framework::jax);
  EXPECT_EQ(of_name("TSL:XlaModule:#hlo_module=jit_step,program_id=7#"), Framework::jax);
  EXPECT_EQ(of_name("cupy_multiply__float32_float_float32"), Framework::cupy);
  EXPECT_EQ(of_name("tensorflow::functor::FillPhiloxRandomKernelLaunch"), Framework::other);
}

TEST(FrameworkOf, is_not_native_where_it_runs_in_python) {
  TimelineScene scene;
  scene.launch("void integrate<double, 4>(double4*, double4 const*, int)", 1'000);
  scene.timeline().counters.push_back({"thread_running 605/605 python3", "", -1, {0}, {1.0}});
  EXPECT_EQ(framework_of(session_of(scene.build())), Framework::other);
}

TEST(FrameworkOf, counters_alone_tell_none) { EXPECT_EQ(framework_of(ProfileSession{}), Framework::other); }

}  // namespace
}  // namespace warpmark::analyze
