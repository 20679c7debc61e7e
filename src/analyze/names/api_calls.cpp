#include "analyze/names/api_calls.h"

#include "analyze/names/code_frames.h"
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
  if (!is_cuda_or_hip(api) || contains_any(api, {"async", "mallocfrompool"})) return false;
  return contains_any(api, {"malloc", "free", "memalloc", "hostalloc", "hostregister", "hostunregister", "memhost"}) ||
         is_mapping_call(api);
}

bool is_host_memory_call(std::string_view api) { return contains_any(api, {"host"}); }

bool is_mapping_call(std::string_view api) {
  return contains_any(api, {"memcreate", "memmap", "memunmap", "memrelease", "memsetaccess", "memaddress"});
}

bool is_release_call(std::string_view api) {
  return is_allocation_call(api) && contains_any(api, {"free", "unmap", "release"});
}

bool is_waiting_os_call(std::string_view name) {
  return name == kBlockedThread ||
         contains_any(name, {"cond_wait", "cond_timedwait", "cond_clockwait", "futex", "sem_wait", "sem_timedwait",
                             "sem_clockwait", "poll", "eventfd"});
}

bool shows_full_queue(std::string_view overhead) { return contains_any(overhead, {"command buffer full"}); }

// Python's module subprocess, and system(3), popen(3) and posix_spawn(3) below it.
bool runs_process(std::string_view name) {
  return file_name_of(parse_code_frame(name).file) == "subprocess.py" || contains_any(name, {"function system>"});
}

// stdio(3): getc, fgets, scanf and getline wait for who types or sends; Python's modules queue, selectors, socket,
// threading, multiprocessing.connection and asyncio; epoll(7), select(2), recv(2), futex(2); ZeroMQ's zmq_poll and
// zmq_msg_recv.
bool waits_for_input(std::string_view name) {
  const CodeFrame frame = parse_code_frame(name);
  if (frame.file.empty()) {
    if (is_waiting_os_call(name) || contains_any(name, {"epoll", "zmq", "infeed"})) return true;
    if (holds_word(name, {"accept", "accept4", "recv", "recvfrom", "recvmsg", "recvmmsg", "getc", "getchar", "fgets",
                          "scanf", "getline"}))
      return true;
    return contains_any(name, {"method 'acquire' of '_thread", "method acquire of _thread", "method 'poll' of",
                               "method poll of", "function select", "simplequeue"});
  }
  const bool waits = contains_any(
      frame.function, {"get", "wait", "select", "poll", "recv", "accept", "_run_once", "join", "acquire", "dequeue"});
  return waits &&
         contains_any(file_name_of(frame.file), {"queue.py", "queues.py", "threading.py", "selectors.py", "socket.py",
                                                 "connection.py", "base_events.py", "shm_broadcast.py", "_base.py"});
}

}  // namespace warpmark::analyze
