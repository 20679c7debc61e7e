// `warpmark report --measure -- CMD`: one report of what several verbs find out about a program.
#include "warpmark/profiles/program_report.h"

#include <gmock/gmock.h>

#include "apps/cli_fixture.h"
#include "base/text.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::vector<ReportPart>& parts) {
  std::vector<std::string> lines;
  for (const auto& part : parts) lines.push_back(command_line(part.words));
  return lines;
}

TEST(ProgramReport, runs_what_the_machine_offers) {
  EXPECT_THAT(lines_of(parts_of_program_report({"python", "t.py"}, "d", "5m", "", false, true)),
              ::testing::ElementsAre("profile --stop --out d/program.wmrec -- python t.py",
                                     "analyze d/program.wmrec --json d/analysis.json",
                                     "optimize --budget 5m --json d/optimization.json -- python t.py"));
  const auto scaled = lines_of(parts_of_program_report({"run", "{gpus}"}, "d", "1m", "1,2,4", true, true));
  ASSERT_EQ(scaled.size(), 4U);
  EXPECT_EQ(scaled[0], "profile --stop --out d/program.wmrec --memory --ncu 5 -- run 4");
  EXPECT_EQ(lines_of(parts_of_program_report({"run", "{gpu_ids}"}, "d", "1m", "1,2", false, false))[0],
            "profile --stop --out d/program.wmrec -- run 0,1");
  EXPECT_EQ(scaled[3], "scale --gpus 1,2,4 --json d/scaling.json -- run '{gpus}'");
}

TEST_F(Cli, a_report_of_a_program_says_which_parts_have_no_result) {
  const auto output = warpmark({"report", "--measure", "--budget", "5s", "--out", path("parts"), "--html",
                                path("all.html"), "--", "sh", "-c", "sleep 0.1"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("Report of sh -c 'sleep 0.1'"));
  EXPECT_THAT(output.out, HasSubstr("No result: nothing was recorded ("));
  const auto page = read_file(path("all.html"));
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(*page, HasSubstr("Bottlenecks"));
  EXPECT_THAT(*page, HasSubstr("Proven speedup"));
}

TEST_F(Cli, a_report_refuses_what_belongs_to_a_program_without_one) {
  EXPECT_EQ(warpmark({"report", "--measure"}).exit_code, 2);
  const auto output = warpmark({"report", "--budget", "5s"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("--budget is for --measure"));
}

}  // namespace
}  // namespace warpmark::apps
