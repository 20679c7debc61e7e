// `warpmark generate` as a person uses it.
#include "apps/cli_fixture.h"

namespace warpmark::apps {
namespace {

TEST_F(Cli, generate_makes_the_same_bytes_again_and_refuses_nonsense) {
  const auto first = warpmark({"generate", "fasta", "--n", "3", "--length", "20"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, warpmark({"generate", "fasta", "--n", "3", "--length", "20"}).out);
  EXPECT_TRUE(first.out.starts_with(">synthetic_000000\n"));
  EXPECT_EQ(warpmark({"generate", "embeddings", "--n", "4", "--width", "8", "--out", path("e.npy")}).exit_code, 0);
  EXPECT_EQ(std::filesystem::file_size(path("e.npy")), 128 + 4 * 8 * 4);
  EXPECT_EQ(warpmark({"generate", "images", "--n", "2", "--size", "16x8", "--out", path("pictures")}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("pictures/synthetic_000001.png")));
  EXPECT_EQ(warpmark({"generate", "fast"}).exit_code, 2);
  EXPECT_EQ(warpmark({"generate", "fasta", "--tokens", "3"}).exit_code, 2);
  EXPECT_EQ(warpmark({"generate", "fasta", "--length", "3", "--motif", "ACGT"}).exit_code, 2);
  EXPECT_EQ(warpmark({"generate", "tabular", "--kind", "ids", "--n", "5", "--out", path("no/such/folder/x")}).exit_code,
            5);
}

}  // namespace
}  // namespace warpmark::apps
