// Reading files and gathering rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/round.h"
#include "workloads/feeding/loading.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {
namespace {

using testing::HasSubstr;

TEST(Storage, reads_what_was_written_in_every_order_and_cache) {
  for (const char* order : {"sequential", "random"}) {
    for (const char* cache : {"cold", "warm"}) {
      const auto run = test::run_small(
          "storage", {{"size", "1MiB"}, {"block", "16KiB"}, {"threads", "3"}, {"order", order}, {"cache", cache}});
      ASSERT_EQ(run.outcome, Outcome::passed) << run.reason;
      EXPECT_EQ(run.error->value, 0);
      ASSERT_EQ(run.metrics.size(), 3U);
      EXPECT_NEAR(run.metrics[1].samples[0] / run.metrics[2].samples[0], 16384, 1e-6);
    }
  }
}

TEST(Storage, is_set_against_what_a_step_needs) {
  const auto run =
      test::run_small("storage", {{"size", "1MiB"}, {"block", "64KiB"}, {"cache", "warm"}, {"need", "1MiB"}});
  ASSERT_EQ(run.outcome, Outcome::passed) << run.reason;
  ASSERT_EQ(run.metrics.back().id, "need_ratio");
  EXPECT_NEAR(run.metrics.back().samples[0] * run.metrics.front().samples[0], 1, 1e-9) << "a pass a second is needed";
}

TEST(Storage, reads_past_the_page_cache_where_the_file_system_can) {
  const auto run = test::run_small("storage", {{"size", "1MiB"}, {"block", "64KiB"}, {"access", "direct"}});
  EXPECT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unsupported) << run.reason;
}

TEST(Storage, says_where_it_cannot_write) {
  const auto run = test::run_small("storage", {{"size", "1MiB"}, {"block", "64KiB"}, {"folder", "/no/such/folder"}});
  EXPECT_EQ(run.outcome, Outcome::error);
  EXPECT_EQ(run.fault, ErrorKind::environment);
  EXPECT_THAT(run.reason, HasSubstr("/no/such/folder"));
}

TEST(Storage, refuses_sizes_that_are_no_blocks) {
  EXPECT_THAT(test::cost_error("storage", {{"size", "10000"}, {"block", "4096"}}), HasSubstr("multiples of 4096"));
  EXPECT_THAT(test::cost_error("storage", {{"size", "8192"}, {"block", "8192"}}), HasSubstr("ok"));
}

const Metric* metric_of_run(const warpmark::Run& run, const std::string& id) {
  for (const auto& metric : run.metrics) {
    if (metric.id == id) return &metric;
  }
  return nullptr;
}

TEST(Loader, makes_batches_of_what_the_files_hold) {
  for (const char* form : {"jpeg", "arrays", "text", "binary"}) {
    for (const char* workers : {"0", "1", "3"}) {
      const auto run = test::run_small("loader", {{"form", form},
                                                  {"workers", workers},
                                                  {"samples", "72"},  // more than there are different pictures
                                                  {"batch", "4"},
                                                  {"side", "24"},
                                                  {"width", "50"},
                                                  {"height", "37"},
                                                  {"words", "100"},
                                                  {"step", "1"}});
      if (run.reason.find("libturbojpeg") != std::string::npos) {
        EXPECT_THAT(run.hint, HasSubstr("apt install"));
        continue;
      }
      ASSERT_EQ(run.outcome, Outcome::passed) << form << ": " << run.reason;
      EXPECT_LE(run.error->value, run.error->tolerance);
      const auto* batch = metric_of_run(run, "batch_time");
      ASSERT_NE(batch, nullptr);
      EXPECT_NEAR(batch->samples[0] * 18 / run.metrics[0].samples[0], 1, 1e-9);
      // Whoever takes batches and makes them himself hides nothing; a step of a second hides these.
      EXPECT_EQ(metric_of_run(run, "hidden")->summary.max, std::string(workers) == "0" ? 0 : 1);
    }
  }
}

/// Copies that read their slot as late as they may: what is filled too early is seen on the device.
class LateCopies final : public BatchCopies {
 public:
  Status allocate(std::size_t slots, std::size_t bytes) override {
    host_.assign(slots, std::vector<std::byte>(bytes));
    device_ = host_;
    under_way_.assign(slots, false);
    return {};
  }
  std::span<std::byte> slot(std::size_t index) override { return host_[index]; }
  Status launch(device::Stream /*stream*/, std::size_t slot) override {
    if (++copies_ == fails_at) return environment_error("the device is gone");
    under_way_[slot] = true;
    return {};
  }
  Result<double> wait(std::size_t slot) override {
    EXPECT_TRUE(under_way_[slot]);
    under_way_[slot] = false;
    device_[slot] = host_[slot];
    if (corrupts) device_[slot][3] ^= std::byte{1};
    return 0.001;
  }
  Status poison() override { return {}; }
  Result<ErrorCheck> check(std::size_t slot) override {
    double different = 0;
    for (std::size_t i = 0; i < host_[slot].size(); ++i) different += host_[slot][i] == device_[slot][i] ? 0 : 1;
    return ErrorCheck{different, 0, "bytes that differ", ""};
  }
  int fails_at = 0;
  bool corrupts = false;

 private:
  int copies_ = 0;
  std::vector<std::vector<std::byte>> host_, device_;
  std::vector<bool> under_way_;
};

TEST(Loading, copies_each_batch_before_its_slot_is_filled_again) {
  const SampleShape shape{.form = "binary", .samples = 96, .words = 50};
  const auto files = SampleFiles::make(shape, "");
  ASSERT_TRUE(files.ok());
  for (const std::size_t workers : {0U, 1U, 4U}) {
    LateCopies copies;
    Loading loading(**files, shape, {.batch = 4, .workers = workers, .seed = 3}, &copies);
    ASSERT_TRUE(loading.prepare().ok());
    double seconds = 0;
    for (int pass = 0; pass < 3; ++pass) ASSERT_TRUE(loading.pass(seconds).ok());
    EXPECT_EQ(loading.difference().sum, 0);
    EXPECT_EQ(*loading.different_on_device(), 0);
    ASSERT_EQ(loading.copy_seconds().size(), 3U);
    EXPECT_NEAR(loading.copy_seconds()[2], 24 * 0.001, 1e-12);
  }
}

TEST(Loading, tells_of_copies_that_fail_or_are_wrong) {
  const SampleShape shape{.form = "binary", .samples = 96, .words = 50};
  const auto files = SampleFiles::make(shape, "");
  ASSERT_TRUE(files.ok());
  for (const std::size_t workers : {0U, 3U}) {
    LateCopies gone, corrupt;
    gone.fails_at = 7;
    corrupt.corrupts = true;
    double seconds = 0;
    Loading failing(**files, shape, {.batch = 4, .workers = workers, .seed = 3}, &gone);
    ASSERT_TRUE(failing.prepare().ok());
    EXPECT_EQ(failing.pass(seconds).error().what, "the device is gone");
    Loading wrong(**files, shape, {.batch = 4, .workers = workers, .seed = 3}, &corrupt);
    ASSERT_TRUE(wrong.prepare().ok());
    ASSERT_TRUE(wrong.pass(seconds).ok());
    EXPECT_EQ(*wrong.different_on_device(), workers == 0 ? 1 : 6) << "a byte of each slot";
  }
}

TEST(Loader, pins_batches_for_a_gpu_only) {
  const auto support = test::support_on_cpu("loader", {{"memory", "pinned"}});
  EXPECT_FALSE(support.available);
  EXPECT_THAT(support.hint, HasSubstr("--device cuda"));
}

TEST(Loader, refuses_sizes_that_make_no_batches) {
  EXPECT_THAT(test::cost_error("loader", {{"samples", "33"}, {"batch", "32"}}), HasSubstr("whole batches"));
  EXPECT_THAT(test::cost_error("loader", {{"workers", "-1"}}), HasSubstr("workers"));
  const auto run = test::run_small("loader", {{"folder", "/no/such/folder"}, {"form", "text"}});
  EXPECT_EQ(run.fault, ErrorKind::environment);
  EXPECT_THAT(run.reason, HasSubstr("/no/such/folder"));
}

TEST(Collate, pads_less_in_buckets) {
  const auto wasted = [](const char* bucket, const char* spread) {
    const auto run =
        test::run_small("collate", {{"samples", "1024"}, {"batch", "16"}, {"bucket", bucket}, {"spread", spread}});
    EXPECT_EQ(run.outcome, Outcome::passed) << run.reason;
    EXPECT_EQ(run.error->value, 0);
    return metric_of_run(run, "wasted")->summary.median;
  };
  EXPECT_EQ(wasted("1", "0"), 0);
  const double as_they_come = wasted("1", "0.7"), buckets = wasted("8", "0.7"), all = wasted("64", "0.7");
  EXPECT_GT(as_they_come, 0.3);
  EXPECT_LT(buckets, as_they_come / 2);
  EXPECT_LT(all, buckets);
}

TEST(Embedding, adds_the_rows_up) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const char* skew : {"0", "1", "1.2"}) {
      const auto run = test::run_small(
          "embedding",
          {{"rows", "1000"}, {"dim", "16"}, {"bags", "64"}, {"lookups", "5"}, {"dtype", dtype}, {"skew", skew}});
      // How quiet the machine is is not the test's business.
      ASSERT_TRUE(run.outcome == Outcome::passed || run.outcome == Outcome::unreliable) << run.reason;
      EXPECT_LE(run.error->value, 1e-5);
    }
  }
}

/// By Zipf's law few rows are asked for again and again; evenly, most of as many lookups are different ones.
TEST(Embedding, asks_for_rows_by_the_skew) {
  const auto different = [](const char* skew) {
    const auto run = test::run_small(
        "embedding", {{"rows", "100000"}, {"dim", "4"}, {"bags", "100"}, {"lookups", "10"}, {"skew", skew}});
    for (const auto& [name, text] : run.notes) {
      if (name == "rows") return std::stoi(text);
    }
    return -1;
  };
  const int even = different("0"), skewed = different("1.5");
  EXPECT_GT(even, 970);
  EXPECT_LT(skewed, 500);
  EXPECT_GT(skewed, 10);
}

}  // namespace
}  // namespace warpmark::workloads
