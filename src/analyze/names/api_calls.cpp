#include "analyze/names/api_calls.h"

#include "analyze/names/words.h"

namespace warpmark::analyze {

bool is_launch_call(std::string_view api) { return contains_any(api, {"launch"}); }

bool is_graph_launch_call(std::string_view api) { return contains_any(api, {"graphlaunch"}); }

bool is_cuda_or_hip(std::string_view api) {
  return api.starts_with("cuda") || api.starts_with("hip") || api.starts_with("cu");
}

bool is_capture_call(std::string_view api) { return contains_any(api, {"streambegincapture"}); }

bool is_sync_call(std::string_view api) { return contains_any(api, {"synchronize", "queuefinish", "ureventwait"}); }

bool is_copy_call(std::string_view api) { return contains_any(api, {"memcpy"}); }

bool is_allocation_call(std::string_view api) {
  if (contains_any(api, {"async", "mallocfrompool"})) return false;
  return contains_any(api, {"cudamalloc", "cudafree", "cumemalloc", "cumemfree", "cumemcreate", "cumemmap",
                            "cumemunmap", "cumemrelease", "cumemsetaccess", "cumemaddress", "cudahostalloc",
                            "cudahostregister", "cudahostunregister", "cumemhost", "hipmalloc", "hipfree"});
}

bool is_host_memory_call(std::string_view api) { return contains_any(api, {"host"}); }

bool is_release_call(std::string_view api) {
  return is_allocation_call(api) && contains_any(api, {"free", "unmap", "release"});
}

bool is_waiting_os_call(std::string_view name) {
  return name == kBlockedThread ||
         contains_any(name, {"cond_wait", "cond_timedwait", "cond_clockwait", "futex", "sem_wait", "sem_timedwait",
                             "sem_clockwait", "poll", "eventfd"});
}

bool tells_full_queue(std::string_view overhead) { return contains_any(overhead, {"command buffer full"}); }

}  // namespace warpmark::analyze
