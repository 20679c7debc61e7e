// Ways out of the sandbox that were tried, one a line: each must fail. `x` is set to something true by code that got
// out; an error is the expected end. What needs a test of its own stands in sandbox_test.cpp.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "evaluate/sandbox/sandbox.h"

namespace warpmark::evaluate {
namespace {

constexpr const char* kInterpreter = "/usr/bin/python3";

struct Attempt {
  const char* what;
  const char* code;
};

constexpr Attempt kAttempts[] = {
    // files
    {"the users of the machine", "x = open('/etc/passwd').read()"},
    {"passwords", "x = open('/etc/shadow').read()"},
    {"root's home", "x = os.listdir('/root')"},
    {"homes", "x = os.listdir('/home')"},
    {"temporary files of others", "x = [f for f in os.listdir('/tmp') + os.listdir('/dev/shm')]"},
    {"configuration", "x = os.listdir('/etc')"},
    {"logs", "x = os.listdir('/var')"},
    {"the root of process 1", "x = os.listdir('/proc/1/root/etc')"},
    {"the working directory of process 1", "x = os.listdir('/proc/1/cwd/../../../root')"},
    {"the environment of process 1", "x = b'KEY' in open('/proc/1/environ', 'rb').read()"},
    {"open files of process 1", "x = [f for f in os.listdir('/proc/1/fd') if open('/proc/1/fd/' + f).read()]"},
    {"an inherited descriptor", "x = [f for f in range(3, 64) if f not in (8,) and can_read(f)]"},
    {"a link out of /tmp", "os.symlink('/etc/passwd', '/tmp/l'); x = open('/tmp/l').read()"},
    {"a way up", "x = open('/sandbox/../../../../etc/passwd').read()"},
    {"a file handle", "x = libc.open_by_handle_at(0, ctypes.create_string_buffer(64), 0) >= 0"},
    {"writing to /usr", "open('/usr/escaped', 'w'); x = 1"},
    {"writing to the root", "open('/escaped', 'w'); x = 1"},
    {"changing the program", "open('/sandbox/program', 'a'); x = 1"},
    {"writing to /sys", "open('/sys/power/state', 'w').write('mem'); x = 1"},
    {"a kernel setting", "open('/proc/sys/kernel/core_pattern', 'w').write('|/tmp/x'); x = 1"},
    {"the magic key", "open('/proc/sysrq-trigger', 'w').write('h'); x = 1"},
    {"the memory of the machine", "x = open('/dev/mem', 'rb').read(1)"},
    {"a disk", "x = [d for d in ('sda', 'vda', 'nvme0n1') if os.open('/dev/' + d, os.O_RDONLY) >= 0]"},
    {"a device of one's own", "os.mknod('/tmp/d', 0o660 | stat.S_IFBLK, os.makedev(8, 0)); x = 1"},
    {"GPUs", "x = [d for d in os.listdir('/dev') if d.startswith(('nvidia', 'dri', 'kfd'))]"},
    // network
    {"TCP of this machine", "x = connects(socket.AF_INET, ('127.0.0.1', 22))"},
    {"TCP of another", "x = connects(socket.AF_INET, ('192.0.2.1', 80))"},
    {"TCP over IPv6", "x = connects(socket.AF_INET6, ('::1', 22))"},
    {"names", "x = socket.getaddrinfo('example.org', 80)"},
    {"UDP", "x = socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))"},
    {"raw packets", "x = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"},
    {"a network interface", "x = [i for i in socket.if_nameindex() if i[1] != 'lo']"},
    {"D-Bus", "x = connects(socket.AF_UNIX, '/run/dbus/system_bus_socket')"},
    {"Docker", "x = connects(socket.AF_UNIX, '/var/run/docker.sock')"},
    {"an abstract socket", "x = connects(socket.AF_UNIX, '\\0/tmp/.X11-unix/X0')"},
    // namespaces and rights
    {"a user namespace", "x = libc.unshare(0x10000000) == 0"},
    {"a mount namespace", "x = libc.unshare(0x20000) == 0"},
    {"a child in namespaces", "x = libc.syscall(56, 0x10000011, 0, 0, 0, 0) >= 0"},
    {"clone3", "x = libc.syscall(435, (ctypes.c_ulonglong * 11)(0x10000000), 88) >= 0"},
    {"another's namespace", "x = libc.setns(os.open('/proc/1/ns/mnt', os.O_RDONLY), 0) == 0"},
    {"a mount", "x = libc.mount(b'none', b'/tmp', b'tmpfs', 0, 0) == 0"},
    {"an unmount", "x = libc.umount2(b'/usr', 2) == 0"},
    {"another root", "x = libc.chroot(b'/proc/1/root') == 0"},
    {"root by sudo", "x = subprocess.run(['sudo', '-n', 'true']).returncode == 0"},
    {"root by su", "x = subprocess.run(['su', '-c', 'true'], stdin=subprocess.DEVNULL).returncode == 0"},
    {"a host name", "socket.sethostname('escaped'); x = 1"},
    {"the clock", "time.clock_settime(time.CLOCK_REALTIME, 0); x = 1"},
    {"a kernel module", "x = libc.syscall(313, 0, b'', 0) == 0"},
    {"a BPF program", "x = libc.syscall(321, 0, 0, 0) >= 0"},
    {"performance counters", "x = libc.syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0) >= 0"},
    {"keys of the kernel", "x = libc.syscall(250, 0, -3, 1) >= 0"},
    {"the terminal", "x = fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), 0x5412, b'x') == 0"},
    // processes
    {"processes of the machine", "x = [p for p in os.listdir('/proc') if p.isdigit() and int(p) > 64]"},
    {"following a process", "x = libc.ptrace(16, 1, 0, 0) == 0"},
    {"the memory of process 1", "x = open('/proc/1/mem', 'rb').read(1)"},
    {"a greater limit", "resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40)); x = 1"},
    {"a real-time priority", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)); x = 1"},
    {"a better priority", "x = os.nice(-5) < 0"},
    // memory that no limit shows
    {"a file in memory", "x = os.memfd_create('x') >= 0"},
    {"a segment of System V", "x = libc.shmget(0, 1 << 20, 0o1600) >= 0"},
    {"shared memory without a file", "x = mmap.mmap(-1, 1 << 20)"},
    {"more than /tmp has", "x = sum(open('/tmp/%d' % i, 'wb').write(b'x' * (8 << 20)) for i in range(8))"},
    {"locked memory", "x = libc.mlock(ctypes.create_string_buffer(64 << 20), 64 << 20) == 0"},
};

constexpr const char* kBefore = R"py(
import ctypes, fcntl, mmap, os, resource, socket, stat, subprocess, time
libc = ctypes.CDLL(None, use_errno=True)
def connects(family, address):
    s = socket.socket(family)
    s.settimeout(1)
    s.connect(address)
    return True
def can_read(number):
    try:
        return bool(os.pread(number, 1, 0))
    except OSError:
        return False
x = None
try:
)py";

constexpr const char* kAfter = R"py(
except (Exception, SystemExit) as error:
    print("contained", type(error).__name__)
else:
    print("ESCAPED" if x else "contained")
)py";

TEST(SandboxEscapes, are_contained) {
  const auto works = sandbox_works();
  if (!works.ok()) GTEST_SKIP() << works.error().what << "; " << works.error().hint;
  if (::access(kInterpreter, X_OK) != 0) GTEST_SKIP() << "there is no " << kInterpreter;
  for (const auto& [what, code] : kAttempts) {
    const std::string program = std::string(kBefore) + "    " + code + kAfter;
    const auto outcome = run_in_sandbox({kInterpreter, "/sandbox/program"}, program, {.deadline_s = 60});
    ASSERT_TRUE(outcome.ok()) << outcome.error().what;
    EXPECT_EQ(outcome->out.rfind("contained", 0), 0U) << what << ": " << outcome->out << outcome->err;
  }
}

}  // namespace
}  // namespace warpmark::evaluate
