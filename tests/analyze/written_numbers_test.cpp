// The pages of docs/metrics say the numbers that stand in the code.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/cures/fitted.h"
#include "analyze/evidence/fitted.h"
#include "analyze/evidence/imbalance.h"
#include "analyze/evidence/other_processes.h"
#include "analyze/needless/fitted.h"
#include "analyze/recorded/fitted.h"
#include "analyze/recorded/launch_times.h"
#include "analyze/recorded/work_list.h"
#include "base/files.h"
#include "measure/stopping.h"
#include "model/finding.h"

namespace warpmark::analyze {
namespace {

/// The page on one line, as sentences go over several.
std::string page(const std::string& name) {
  const auto text = read_file(std::string(WARPMARK_SOURCE_DIR) + "/docs/metrics/" + name + ".md");
  EXPECT_TRUE(text.ok()) << name;
  std::string line;
  for (const char c : text.ok() ? *text : std::string()) {
    const bool space = c == ' ' || c == '\n';
    if (!space || !line.ends_with(' ')) line += space ? ' ' : c;
  }
  return line;
}

void expect_said(const std::string& name, const std::vector<std::string>& sentences) {
  const std::string text = page(name);
  for (const auto& sentence : sentences) {
    EXPECT_NE(text.find(sentence), std::string::npos) << "docs/metrics/" << name << ".md does not say: " << sentence;
  }
}

double microseconds(double ns) { return ns / 1e3; }
std::int64_t kibibytes(std::int64_t bytes) { return bytes >> 10; }

TEST(WrittenNumbers, of_a_run) {
  const measure::StoppingOptions stopping;
  expect_said("run",
              {fmt::format("({:.2g} % of the median by default, with at least {} samples), or there are {} samples",
                           stopping.half_width * 100, stopping.min_samples, stopping.max_samples)});
}

TEST(WrittenNumbers, of_a_profile) {
  expect_said("analyze", {fmt::format("critical above {}, warning from {}", kCritical, kWarning),
                          fmt::format("or the call lasts {} us or longer", microseconds(kWaitingLaunchNs)),
                          fmt::format("{} times as long with shapes and {} times without", kSlowerWithShapes,
                                      kSlowerWithoutShapes),
                          fmt::format("({} to {} us)", microseconds(kUsualLaunchNs), microseconds(kMostLaunchNs)),
                          fmt::format("if it is larger than {} KiB", kibibytes(kValueBytes)),
                          fmt::format("before one of {} KiB or more", kibibytes(kBatchBytes)),
                          fmt::format("more than one number ({} bytes)", kOneNumberBytes),
                          fmt::format("busy for {} % of the steps or more", kUtilizationDisagrees * 100)});
}

TEST(WrittenNumbers, of_the_rules_of_the_host) {
  expect_said("rules-host", {fmt::format("load already {} of that (several ranks: {}) and at most {} times as fast",
                                         kWorkersReach, kWorkersReachOfRanks, kMostMoreWorkers),
                             fmt::format("a launch call takes {} us", microseconds(kPlainLaunchNs)),
                             fmt::format("{} of their dispatching and {} of their kernels are left",
                                         kDispatchLeftOfCells, kKernelTimeLeftOfCells)});
  EXPECT_EQ(kLeftWithWorkers, 1.0 / 4) << "a quarter of the loading itself";
  EXPECT_EQ(kCompiledAway, 1.0 / 4) << "a quarter of dispatching";
}

TEST(WrittenNumbers, of_the_rules_of_the_kernels) {
  expect_said(
      "rules-kernels",
      {fmt::format("({} of FP32 products, {} of FP32 convolutions but the depthwise ones, {} of FP64)", kSimtToTensor,
                   kSimtConvolutionToTensor, kDoubleToSingle),
       fmt::format("but for {} of them", kWideVector), fmt::format("TF32 is a note ({} of its time", kTf32Forgiven),
       fmt::format("`tf32`: {} of FP32", kSimtToTf32),
       fmt::format("longer by {} times what it is", kDispatchUnderAutocast - 1),
       fmt::format("beyond {} of the longest and {} of the sum", kChainPasses, kChainRest),
       fmt::format("in training {} of the longest more for each reduction", kPassOfReduction),
       fmt::format("(of the program's own {} of the longest)", kOwnPasses),
       fmt::format("gather that is reduced costs {} times its reduction", kReadOutOfOrder),
       fmt::format("of what reads them {}", kPickedRows),
       fmt::format("needs its time beyond {} us", microseconds(kEmptyKernelNs))});
}

TEST(WrittenNumbers, of_the_rules_of_the_ranks) {
  expect_said("rules-ranks", {fmt::format("{} of that is left", kNormsLeft),
                              fmt::format("at least {} times as long as the others' median", kClearlyMore)});
  EXPECT_EQ(kUnitsLeft, 1.0 / 6) << "a sixth of that is left";
}

}  // namespace
}  // namespace warpmark::analyze
