#include <gmock/gmock.h>

#include "profile/catalog.h"
#include "profile/pack.h"
#include "profile/trace_text.h"
#include "support/fake_tree.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;
using test::op;
using test::trace_of;
using warpmark::test::FakeTree;

std::string ranked(int rank) {
  return "{\"distributedInfo\": {\"rank\": " + std::to_string(rank) + ", \"world_size\": 4}, \"traceEvents\": [" +
         op("r" + std::to_string(rank), "5") + "]}";
}

std::vector<int> ranks_of(const ProfileSession& session) {
  std::vector<int> ranks;
  for (const Timeline& timeline : session.ranks) ranks.push_back(timeline.rank);
  return ranks;
}

TEST(Session, takes_ranks_from_the_content_first) {
  FakeTree tree;
  tree.file("a.rank0.json", ranked(2)).file("b.rank1.json", ranked(0)).file("c.json", ranked(1));
  const std::vector<fs::path> paths{tree.root()};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(ranks_of(*session), testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(session->ranks[0].name_of(0), "r0");
  EXPECT_EQ(session->ranks[0].source, (tree.root() / "b.rank1.json").string());
}

TEST(Session, takes_ranks_from_names_and_then_from_the_order) {
  FakeTree tree;
  tree.file("t.rank10.json", trace_of(op("ten", "1")))
      .file("t.rank2.json", trace_of(op("two", "1")))
      .file("plain.json", trace_of(op("plain", "1")));
  const std::vector<fs::path> paths{tree.root()};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(ranks_of(*session), testing::ElementsAre(0, 2, 10));
  EXPECT_EQ(session->ranks[0].name_of(0), "plain");
}

/// As TraceLens joins ranks: ids of processes are made unique, and every event says its rank.
std::string merged(bool with_rank, bool one_device) {
  std::string events;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string said = with_rank ? ", \"rank\": " + std::to_string(rank) : "";
    const std::string device = std::to_string(one_device ? 2 : rank + 2), pid = std::to_string(rank * 100000000 + 2);
    const std::string start = std::to_string(10 + rank);
    const auto row = [&](const char* category, const std::string& name, const std::string& more) {
      events += (events.empty() ? "" : ",") + std::string(R"({"ph": "X", "cat": ")") + category + R"(", "name": ")" +
                name + std::to_string(rank) + R"(", "pid": )" + pid + R"(, "tid": 7, "ts": )" + start +
                R"(, "dur": 5, "args": {"correlation": )" + std::to_string(rank + 1) + more + said + "}}";
    };
    row("cuda_runtime", "launch", "");
    row("kernel", "gemm", R"(, "stream": 0, "grid": [4, 1, 1], "device": )" + device);
    row("gpu_user_annotation", "step", R"(, "stream": 0, "pid_raw": )" + device);
  }
  return "{\"traceEvents\": [" + events + R"(, {"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 12}]})";
}

TEST(Session, splits_a_merged_file_by_the_rank_of_its_events) {
  FakeTree tree;
  tree.file("merged.json", merged(true, false));
  const std::vector<fs::path> paths{tree.root() / "merged.json"};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(ranks_of(*session), testing::ElementsAre(0, 1));
  const Timeline& second = session->ranks[1];
  ASSERT_EQ(second.events.size(), 3U);
  EXPECT_EQ(session->ranks[0].events.size(), 4U) << "what says no rank is of the first";
  EXPECT_EQ(second.origin_ns, 11'000);
  for (EventIndex i = 0; i < second.events.size(); ++i) {
    EXPECT_TRUE(second.name_of(i).ends_with('1'));
    if (second.events.kind[i] == EventKind::runtime_api) continue;
    EXPECT_EQ(second.tracks[second.events.track[i]].device, 3);
    if (second.events.kind[i] != EventKind::kernel) continue;
    EXPECT_EQ(second.launch_shapes[second.events.detail[i]].grid[0], 4U);
  }
}

TEST(Session, splits_no_file_whose_streams_have_no_rank_or_two) {
  for (const std::string& text : {merged(false, false), merged(true, true)}) {
    const auto session = test::read_text(text);
    ASSERT_TRUE(session.ok());
    ASSERT_EQ(session->ranks.size(), 1U);
    EXPECT_EQ(session->ranks[0].events.size(), 7U);
  }
}

TEST(Session, gives_the_second_of_one_rank_a_free_number_and_says_so) {
  FakeTree tree;
  tree.file("a.json", ranked(1)).file("b.json", R"({"distributedInfo": {"rank": 1}, "traceEvents": []})");
  const std::vector<fs::path> paths{tree.root() / "a.json", tree.root() / "b.json"};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(ranks_of(*session), testing::ElementsAre(0, 1));
  EXPECT_EQ(test::issue_count(session->ranks[0], "rank_twice"), 1);
}

TEST(Session, takes_a_recording_named_twice_or_packed_beside_itself_once) {
  FakeTree tree;
  tree.file("t.json", trace_of(op("a", "1"))).file("t.json.gz", test::gzip(trace_of(op("a", "1"))));
  const fs::path plain = tree.root() / "t.json";
  for (const std::vector<fs::path>& paths : {std::vector{plain, plain}, std::vector{tree.root()}}) {
    const auto session = read_session(paths);
    ASSERT_TRUE(session.ok());
    EXPECT_EQ(session->ranks.size(), 1U);
    ASSERT_EQ(session->quality.size(), 1U);
    EXPECT_EQ(session->quality[0].id, "copy_left_out");
  }
}

TEST(Session, keeps_ranks_that_did_the_same_at_the_same_time) {
  FakeTree tree;
  tree.file("t.rank0.json", trace_of(op("a", "1"))).file("t.rank1.json", trace_of(op("a", "1")));
  const std::vector<fs::path> paths{tree.root()};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(ranks_of(*session), testing::ElementsAre(0, 1));
}

TEST(Session, chooses_by_content_and_not_by_name) {
  FakeTree tree;
  tree.file("profile.csv", test::gzip(trace_of(op("a", "1"))));
  const std::vector<fs::path> paths{tree.root() / "profile.csv"};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->ranks.at(0).format, "kineto");
}

TEST(Session, leaves_out_what_is_no_profile_in_a_folder) {
  FakeTree tree;
  tree.file("a.json", trace_of(op("a", "1"))).file("README.md", "# notes\n").file("labels.json", "{\"x\": 1}");
  const std::vector<fs::path> paths{tree.root()};
  const auto session = read_session(paths);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->ranks.size(), 1U);
  ASSERT_EQ(session->quality.size(), 1U);
  EXPECT_EQ(session->quality[0].count, 2);
}

TEST(Session, refuses_with_what_the_file_looks_like) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "empty file"},
      {"  \n", "blanks"},
      {"<!DOCTYPE html><html>", "web page"},
      {"PK\x03\x04zip", "zip archive"},
      {std::string("\x7F"
                   "ELF\x02\x01",
                   6),
       "program"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "Git LFS"},
      {std::string("\x01\x00QuadDCommon\x00", 14), "Nsight Systems report"},
      {"\xFD\x37zXZ", "xz archive"},
      {std::string("\xFF\xFE#\0 \0g\0", 8), "UTF-16"},
      {"\x80\x04\x95\x10 segments", "memory snapshot of PyTorch"},
      {"hello\n", "text of an unknown format"},
      {"{\"a\": 1}", "JSON without"},
      {"[1, 2]", "JSON without"},
      {"[04-03-2021 @ 13:32:39] >  Temp: 58C  Power: 1/250 W  Utilization: 0%  Memory: 0/11019 MiB\n", "a log of GPU"},
      {"[INFO] epoch 1\n", "text of an unknown format"},
      {"[1/100] loss 3\n", "text of an unknown format"},
      {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"profiles\":[]}", "speedscope"},
      {"[{\"id\":1,\"timestamps\":[{\"name\":\"HTTP_RECV_START\",\"ns\":5294383183578}]}]", "Triton server"},
      {std::string("\x00\x01\x02", 3), "binary data"},
  };
  for (const auto& [bytes, expected] : cases) {
    const auto session = test::read_text(bytes);
    ASSERT_FALSE(session.ok()) << expected;
    EXPECT_EQ(session.error().kind, ErrorKind::data);
    EXPECT_THAT(session.error().what, testing::HasSubstr(expected));
    EXPECT_NE(session.error().hint, "") << expected;
  }
  EXPECT_THAT(test::read_text("==PROF== Connected to process 1\n").error().what, testing::HasSubstr("--csv"));
}

TEST(Session, says_of_an_archive_that_was_cut_at_its_start_that_it_was) {
  for (const std::string& packed : {test::gzip("[]").substr(0, 6), test::zstd(std::string(9999, 'x')).substr(0, 9)}) {
    const auto session = test::read_text(packed);
    ASSERT_FALSE(session.ok());
    EXPECT_THAT(session.error().what, testing::HasSubstr("ends in the middle"));
  }
  EXPECT_THAT(test::read_text(test::gzip(test::gzip("[]"))).error().what, testing::HasSubstr("gzip file within"));
}

TEST(Session, refuses_nothing_and_empty_folders) {
  EXPECT_EQ(read_session({}).error().kind, ErrorKind::usage);
  const FakeTree tree;
  const std::vector<fs::path> paths{tree.root()};
  EXPECT_EQ(read_session(paths).error().kind, ErrorKind::data);
  const std::vector<fs::path> missing{tree.root() / "no"};
  EXPECT_EQ(read_session(missing).error().kind, ErrorKind::data);
}

TEST(Readers, have_ids_and_summaries_and_take_no_foreign_text) {
  for (const TraceReader* reader : readers()) {
    EXPECT_NE(std::string(reader->summary), "");
    EXPECT_EQ(reader->sniff("").score, 0) << reader->id;
    EXPECT_EQ(reader->sniff("hello\nworld\n").score, 0) << reader->id;
    EXPECT_EQ(reader->sniff("\n").score, 0) << reader->id;
  }
  EXPECT_THAT(ids_of(readers()), testing::IsSupersetOf({"kineto", "nsys_sqlite", "ncu_csv", "nvidia_smi_dmon",
                                                        "dcgm_dmon", "nccl_tests"}));
}

}  // namespace
}  // namespace warpmark::profile
