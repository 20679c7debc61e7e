// Records of requests on their way through a file: what comes back, in which order, and what a full disk costs.
#include "serving/records/record_spool.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "serving/records/record_bytes.h"
#include "serving/records_fixture.h"
#include "serving/results/evaluate_load.h"
#include "stats/random.h"
#include "stats/summary.h"

namespace warpmark::serving {
namespace {

using ::testing::HasSubstr;

/// Of request `number`, due 1 ms after the one before; what one has, another has not.
RequestRecord request(std::int64_t number) {
  RequestRecord record;
  record.prepared = static_cast<std::uint32_t>(number);
  record.turn = static_cast<std::int32_t>(number % 3);
  record.user = -static_cast<std::int32_t>(number);
  record.intended_ns = 1'000'000 * (number + 1);
  record.begun_ns = record.intended_ns + 1;
  record.sent_ns = record.intended_ns + 2;
  record.first_byte_ns = record.intended_ns + 3;
  record.first_token_ns = record.intended_ns + 4;
  record.first_visible_ns = record.intended_ns + 5;
  record.last_token_ns = record.intended_ns + 6;
  record.ended_ns = record.intended_ns + 7;
  record.server_first_token_ns = record.intended_ns + 8;
  record.connect_ns = 9;
  record.longest_gap_ns = 10;
  record.prompt_tokens = 11;
  record.output_tokens = 12;
  record.reasoning_tokens = 13;
  record.cached_tokens = 14;
  record.own_tokens = 15;
  record.events = 16;
  record.bytes = std::int64_t{17} << 40;
  record.retry_after_s = 18;
  record.status = static_cast<std::int16_t>(-1 - number % 100);
  record.fault = static_cast<Fault>(static_cast<std::size_t>(number) % kFaults);
  record.sample = static_cast<std::uint8_t>(number % 5);
  record.retried = number % 2 == 0;
  record.without_done = number % 3 == 0;
  record.cut_off = number % 5 == 0;
  record.counted_here = number % 7 == 0;
  record.gaps_s.assign(static_cast<std::size_t>(number % 4), 0.25F);
  if (number % 3 == 0) record.gap_tokens.assign(record.gaps_s.size(), 65535);
  if (number % 6 == 1) record.message = std::string("no \"room\"\n\0\xff", 12) + std::to_string(number);
  if (number % 8 == 1) record.said = std::make_shared<AnswerText>(AnswerText{"seen", "thought", number % 16 == 1});
  return record;
}

std::string bytes_of(const RequestRecord& record) {
  std::string bytes;
  append_record(record, bytes);
  return bytes;
}

void expect_same(const RequestRecord& record, const RequestRecord& expected) {
  EXPECT_EQ(bytes_of(record), bytes_of(expected));
  EXPECT_EQ(record.message, expected.message);
  EXPECT_EQ(record.gaps_s, expected.gaps_s);
  EXPECT_EQ(record.gap_tokens, expected.gap_tokens);
  ASSERT_EQ(record.said == nullptr, expected.said == nullptr);
  if (record.said == nullptr) return;
  EXPECT_EQ(record.said->visible, expected.said->visible);
  EXPECT_EQ(record.said->reasoning, expected.said->reasoning);
  EXPECT_EQ(record.said->tool_calls, expected.said->tool_calls);
}

TEST(RecordBytes, say_every_field) {
  for (int i = 0; i < 100; ++i) {
    const RequestRecord written = request(i);
    const std::string bytes = bytes_of(written);
    RequestRecord read = request(i + 1);  // nothing of what was there before stays
    ASSERT_EQ(read_record(bytes, read), bytes.size());
    expect_same(read, written);
    EXPECT_EQ(read.prepared, written.prepared);
    EXPECT_EQ(read.user, written.user);
    EXPECT_EQ(read.status, written.status);
    EXPECT_EQ(read.fault, written.fault);
    EXPECT_EQ(read.server_first_token_ns, written.server_first_token_ns);
    EXPECT_EQ(read.bytes, written.bytes);
    EXPECT_EQ(read.counted_here, written.counted_here);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_EQ(read_record(std::string_view(bytes).substr(0, length), read), 0U);
    }
  }
}

TEST(RecordSpool, gives_back_what_it_took_by_when_it_was_due) {
  constexpr int kCount = 5'000;
  auto spool = RecordSpool::open({});
  ASSERT_TRUE(spool.ok()) << spool.error().what;
  // Two threads, each with every second request; of each ten the last is the first to end.
  std::vector<std::thread> threads;
  for (int part = 0; part < 2; ++part) {
    threads.emplace_back([&, part] {
      RecordWriter writer(**spool);
      for (int i = part; i < kCount; i += 20) {
        for (int k = 18; k >= 0; k -= 2) writer.add(request(i + k));
      }
      writer.flush();
    });
  }
  for (auto& thread : threads) thread.join();
  const auto records = (*spool)->finish(1);
  ASSERT_TRUE(records.ok()) << records.error().what;
  EXPECT_EQ((*spool)->problem(), "");
  ASSERT_EQ(records->size(), std::size_t{kCount});
  for (int pass = 0; pass < 2; ++pass) {
    int number = 0;
    for (const auto& record : *records) expect_same(record, request(number++));
    EXPECT_EQ(number, kCount);
  }
  EXPECT_TRUE(records->status().ok());
}

TEST(RecordSpool, passes_over_gaps_outside_the_sample) {
  auto spool = RecordSpool::open({});
  ASSERT_TRUE(spool.ok()) << spool.error().what;
  RecordWriter writer(**spool);
  for (int i = 0; i < 100; ++i) writer.add(request(i));
  writer.flush();
  const auto records = (*spool)->finish(4);
  ASSERT_TRUE(records.ok()) << records.error().what;
  for (const auto& record : *records) {
    const auto expected = record.sample >= 2 ? record.prepared % 4 : 0;
    EXPECT_EQ(record.gaps_s.size(), expected);
  }
}

TEST(RecordSpool, keeps_what_a_full_disk_does_not_take) {
  auto spool = RecordSpool::open("/dev/full");
  if (!spool.ok()) GTEST_SKIP() << spool.error().what;
  RecordWriter writer(**spool);
  int count = 0;
  for (; count < 1'000'000 && !(*spool)->failed(); ++count) writer.add(request(count));
  ASSERT_TRUE((*spool)->failed());
  for (const int end = count + 1'000; count < end; ++count) writer.add(request(count));
  writer.flush();
  const auto records = (*spool)->finish(1);
  ASSERT_TRUE(records.ok()) << records.error().what;
  EXPECT_THAT((*spool)->problem(), HasSubstr("/dev/full: No space left on device"));
  ASSERT_EQ(records->size(), static_cast<std::size_t>(count));
  int number = 0;
  for (const auto& record : *records) expect_same(record, request(number++));
  EXPECT_TRUE(std::filesystem::exists("/dev/full")) << "a device stays";
}

/// Files of this process end at so many bytes, as a disk does that has no more.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(RecordSpool, keeps_what_is_on_a_disk_that_fills_up_and_the_rest) {
  const auto folder = ScratchFolder::make("test");
  ASSERT_TRUE(folder.ok());
  const auto file = folder->path() / "records";
  auto spool = RecordSpool::open(file);
  ASSERT_TRUE(spool.ok()) << spool.error().what;
  int count = 0;
  {
    const FileLimit limit(300'000);
    RecordWriter writer(**spool);
    for (; count < 1'000'000 && !(*spool)->failed(); ++count) writer.add(request(count));
    writer.flush();
    EXPECT_TRUE((*spool)->failed());
    EXPECT_GT(std::filesystem::file_size(file), 200'000U);
  }
  const auto records = (*spool)->finish(1);
  ASSERT_TRUE(records.ok()) << records.error().what;
  EXPECT_THAT((*spool)->problem(), HasSubstr("cannot keep the records of requests in " + file.string()));
  ASSERT_EQ(records->size(), static_cast<std::size_t>(count));
  int number = 0;
  for (const auto& record : *records) expect_same(record, request(number++));
}

TEST(RecordSpool, leaves_a_file_for_a_program_that_is_killed) {
  const auto folder = ScratchFolder::make("test");
  ASSERT_TRUE(folder.ok());
  const auto file = folder->path() / "records", copy = folder->path() / "copy";
  {
    auto spool = RecordSpool::open(file);
    ASSERT_TRUE(spool.ok()) << spool.error().what;
    RecordWriter writer(**spool);
    for (int i = 0; i < 2'000; ++i) writer.add(request(i));
    writer.flush();
    auto records = (*spool)->finish(1);
    ASSERT_TRUE(records.ok()) << records.error().what;
    std::filesystem::copy_file(file, copy);
    *records = RequestRecords();
    EXPECT_TRUE(std::filesystem::exists(file)) << "nobody said that they were told";
    auto again = RequestRecords::of_unfinished(file);
    ASSERT_TRUE(again.ok()) << again.error().what;
    EXPECT_EQ(again->size(), 2'000U);
  }
  const auto whole = RequestRecords::of_unfinished(copy);
  ASSERT_TRUE(whole.ok()) << whole.error().what;
  EXPECT_EQ(whole->size(), 2'000U);
  std::filesystem::resize_file(copy, std::filesystem::file_size(copy) - 100);
  const auto cut = RequestRecords::of_unfinished(copy);
  ASSERT_TRUE(cut.ok()) << cut.error().what;
  EXPECT_GT(cut->size(), 1'000U);
  EXPECT_LT(cut->size(), 2'000U);
  std::int64_t number = 0;
  for (const auto& record : *cut) expect_same(record, request(number++));
  std::filesystem::resize_file(copy, 5);
  EXPECT_EQ(RequestRecords::of_unfinished(copy)->size(), 0U);
}

TEST(RecordSpool, says_where_it_cannot_be) {
  const auto spool = RecordSpool::open("/no/such/folder/records");
  ASSERT_FALSE(spool.ok());
  EXPECT_EQ(spool.error().kind, ErrorKind::environment);
  EXPECT_THAT(spool.error().what, HasSubstr("/no/such/folder/records"));
}

TEST(RequestRecords, tell_that_their_file_was_cut_off) {
  const auto folder = ScratchFolder::make("test");
  ASSERT_TRUE(folder.ok());
  const auto file = folder->path() / "records";
  auto spool = RecordSpool::open(file);
  ASSERT_TRUE(spool.ok()) << spool.error().what;
  RecordWriter writer(**spool);
  for (int i = 0; i < 2'000; ++i) writer.add(request(i));
  writer.flush();
  const auto records = (*spool)->finish(1);
  ASSERT_TRUE(records.ok()) << records.error().what;
  std::filesystem::resize_file(file, 100'000);
  std::size_t count = 0;
  for (const auto& record : *records) count += record.prepared < 2'000 ? 1 : 0;
  EXPECT_LT(count, 2'000U);
  ASSERT_FALSE(records->status().ok());
  EXPECT_THAT(records->status().error().what, HasSubstr(file.string()));
}

TEST(RequestRecords, give_the_numbers_of_values_in_memory) {
  constexpr int kCount = 30'000;
  std::vector<RequestRecord> ended;
  std::vector<double> e2e;
  for (int i = 0; i < kCount; ++i) {
    RequestRecord record;
    record.intended_ns = record.begun_ns = record.sent_ns = 1'000'000 * (i + std::int64_t{1});
    const auto took = static_cast<std::int64_t>(5e7 * (1 + stats::random_unit(1, static_cast<std::uint64_t>(i))));
    record.first_byte_ns = record.first_token_ns = record.first_visible_ns = record.sent_ns + took / 2;
    record.ended_ns = record.last_token_ns = record.sent_ns + took;
    record.events = record.output_tokens = 3;
    record.gaps_s = {static_cast<float>(took) * 0.25e-9F, static_cast<float>(took) * 0.25e-9F};
    record.sample = 40;
    e2e.push_back(static_cast<double>(took) * 1e-9);
    ended.push_back(std::move(record));
  }
  std::sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) { return a.ended_ns < b.ended_ns; });
  LoadOutcome outcome;
  outcome.began_ns = 1;
  outcome.stopped_ns = outcome.ended_ns = 1'000'000 * (kCount + std::int64_t{1000});
  outcome.records = stored(ended);
  LoadPlan plan;
  plan.requests.resize(1);
  const ScenarioResult result = evaluate_load(std::move(outcome), plan, {.find_warmup = false});
  const LoadMetric* metric = metric_of(result, "e2e");
  ASSERT_NE(metric, nullptr);
  const LoadMetric expected = request_metric("e2e", "s", Better::lower, e2e, 0.95);
  EXPECT_EQ(metric->n, kCount);
  EXPECT_EQ(metric->mean, expected.mean) << "added up in the same order";
  EXPECT_EQ(metric->stdev, expected.stdev);
  EXPECT_EQ(metric->samples, expected.samples);
  EXPECT_EQ(metric->samples.size(), 15'000U);
  EXPECT_EQ(metric->samples[1], e2e[2]);
  std::sort(e2e.begin(), e2e.end());
  for (const double p : {0.5, 0.9, 0.99, 0.999}) {
    const Percentile *here = percentile_of(*metric, p), *there = percentile_of(expected, p);
    EXPECT_EQ(*here->value, stats::quantile_of_sorted(e2e, p)) << p;
    EXPECT_EQ(here->interval->low, there->interval->low) << p;
    EXPECT_EQ(here->interval->high, there->interval->high) << p;
  }
  EXPECT_EQ(metric_of(result, "chunk_gap")->n, 2 * kCount);
}

}  // namespace
}  // namespace warpmark::serving
