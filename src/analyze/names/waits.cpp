// Names: modules queue, selectors, socket, threading, multiprocessing.connection and asyncio of Python; epoll(7),
// select(2), recv(2), futex(2); ZeroMQ's zmq_poll and zmq_msg_recv.
#include "analyze/names/waits.h"

#include "analyze/names/api_calls.h"
#include "analyze/names/code_frames.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

bool waits_for_input(std::string_view name) {
  if (is_waiting_os_call(name) || contains_any(name, {"epoll", "accept", "recv", "zmq"})) return true;
  const CodeFrame frame = parse_code_frame(name);
  if (frame.file.empty()) {
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
