// Host stacks, folded: a line for each stack, with the time in its innermost frame alone.
#include <gtest/gtest.h>

#include "base/files.h"
#include "profile/catalog.h"
#include "support/fake_tree.h"
#include "support/timeline_scene.h"

namespace warpmark::profile {
namespace {

using testing_support::session_of;
using testing_support::TimelineScene;
using warpmark::test::FakeTree;

const Writer& folded() { return *find_in(writers(), "folded"); }

TEST(FoldedStacks, give_each_frame_its_time_alone) {
  TimelineScene scene;
  scene.within("train.py(3): step; one", EventKind::python, [&] {
    scene.range("aten::mm", 30'000, EventKind::op);
    scene.idle_host(20'000);
    scene.range("aten::mm", 30'000, EventKind::op);
  });
  scene.launch("kernel", 9'000'000);
  const FakeTree tree;
  ASSERT_TRUE(folded().write(session_of(scene.build()), tree.root() / "host.folded").ok());
  const auto text = read_file(tree.root() / "host.folded");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text,
            "main;cudaLaunchKernel 2\n"
            "main;train.py(3): step: one 20\n"
            "main;train.py(3): step: one;aten::mm 60\n");
}

TEST(FoldedStacks, of_a_profile_without_host_are_an_error) {
  TimelineScene scene;
  scene.add({EventKind::kernel, 1'000'000, 5'000, "kernel", scene.stream(7)});
  const FakeTree tree;
  EXPECT_FALSE(folded().write(session_of(scene.build()), tree.root() / "host.folded").ok());
}

}  // namespace
}  // namespace warpmark::profile
