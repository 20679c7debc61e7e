#include "analyze/names/api_calls.h"

#include <gtest/gtest.h>

namespace warpmark::analyze {
namespace {

TEST(WaitsForInput, by_whole_words_of_calls) {
  for (const char* name :
       {"recvfrom", "accept4", "epoll_wait", "zmq_poll", "<method 'recv' of '_socket.socket' objects>",
        "queue.py(160): get", "InfeedManager::BlockingDequeueBuffer"}) {
    EXPECT_TRUE(waits_for_input(name)) << name;
  }
  for (const char* name : {"<method 'accept_token' of 'xgrammar.GrammarMatcher' objects>", "linecache.py(36): getlines",
                           "train.py(12): accept", "recv_buffer_size"}) {
    EXPECT_FALSE(waits_for_input(name)) << name;
  }
}

TEST(RunsProcess, by_the_module_of_python) {
  EXPECT_TRUE(runs_process("subprocess.py(421): check_output"));
  EXPECT_TRUE(runs_process("<built-in function system>"));
  EXPECT_FALSE(runs_process("my_subprocess_pool.py(3): run"));
}

}  // namespace
}  // namespace warpmark::analyze
