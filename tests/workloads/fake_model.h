// A program in place of a model worker's interpreter, which speaks the protocol as the real one does but for one thing.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "measure/round.h"
#include "support/fake_device.h"
#include "workloads/models/model_shape.h"
#include "workloads/run_workload.h"

namespace warpmark::workloads {

inline constexpr const char* kFake = R"(#!/usr/bin/env python3
import json, mmap, os, struct, sys, time, zlib
lie = '@LIE@'
open('@FOLDER@/pid', 'w').write(str(os.getpid()))
control, memory = (int(fd) for fd in os.environ['WARPMARK_WORKER_FDS'].split(','))
ring = mmap.mmap(memory, 0)
clock = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
gpu = []  # launches while somebody records: name, start, duration
folder = None
losses = iter([5.545] + [5.0 - i * 0.0001 for i in range(100000)])

def note(records):
    for i, record in enumerate(records):
        struct.pack_into('<qqqd', ring, 16 + 32 * i, *record)
    struct.pack_into('<qq', ring, 0, 1, 1 << 60 if lie == 'ring' else len(records))

def texts(*all):
    return b''.join(struct.pack('<I', len(t)) + t.encode() for t in all)

def recording(begin):
    """As the recorder writes it: src/profile/recording/format.h."""
    def chunk(kind, payload):
        return struct.pack('<IHHII', 0x4B434D57, kind, 0, len(payload), zlib.crc32(payload)) + payload
    names = {name: i + 1 for i, name in enumerate(sorted({name for name, _, _ in gpu}))}
    events = b''.join(struct.pack('<qqqIIIIIB3x', start, lasts, 0, names[name], 1, i + 1, 0, 1, 11)
                      for i, (name, start, lasts) in enumerate(gpu))
    shape = struct.pack('<IIIIIIIIIIff', 1, 8, 1, 1, 128, 1, 1, 16, 0, 0, -1, -1)
    parts = [chunk(1, struct.pack('<I', 3)), chunk(2, texts('process', str(os.getpid()))),
             chunk(2, texts('recording_begin_ns', str(begin))), chunk(2, texts('dropped_records', '0'))]
    parts += [chunk(3, struct.pack('<I', i) + texts(name)) for name, i in names.items()]
    parts += [chunk(4, struct.pack('<IiqqB7x', 1, 0, os.getpid(), 7, 1) + texts('stream 7')), chunk(5, shape)]
    return b''.join(parts + [chunk(6, events)] * bool(gpu) + [chunk(8, b'')])

def record(ask):
    global folder, begun
    if not ask['on']:
        open(folder + '/1.wmrec', 'wb').write(recording(begun))
        folder = None
    elif lie == 'deaf':
        return {'refused': 'unsupported', 'what': 'no CUPTI', 'hint': ''}
    else:
        folder, begun = ask['variables']['WARPMARK_RECORD_FOLDER'], time.time_ns()
    return {}

def launch(steps):
    """The first half of each step's time is the GPU's."""
    begin = time.time_ns()
    done = {'skips': (steps + 1) // 2, 'idle': 0, 'twice': 2 * steps}.get(lie, steps)
    for i in range(done):
        at = begin + i * 20_000_000
        gpu.extend([('embed', at, 1_000_000), ('gemm', at + 1_000_000, 4_000_000), ('gemm', at + 5_000_000, 4_000_000)])
        if lie == 'unsynchronized':
            gpu.append(('adam', at + 9_000_000, 400_000_000))
        if lie == 'busy':
            gpu.append(('other', begin + i * 30_000_000, 30_000_000))
    if lie == 'busy':
        time.sleep(steps * 0.02)

ran = []

def run(ask):
    steps, records = ask['steps'], []
    if folder is not None and lie != 'busy':
        launch(steps)
    begin = clock()
    if folder is not None and lie == 'busy':
        launch(steps)
    for i in range(steps):
        time.sleep(0.02)
        records.append((0, i, clock(), 0.0))
    end = clock()
    for i in range(steps):
        records.append((1, i, end, next(losses)))
    if ask['phases']:
        whole = (end - begin) / steps * 1e-9 * {'quick phases': 0.2, 'slow phases': 5}.get(lie, 1)
        part = whole / 2 if lie == 'phases' else whole
        records = [r for i in range(steps) for r in ((2, i, end, whole), (10, i, end, part))]
    if lie == 'steps' and not ask['phases']:
        records = records[1:]
    if lie == 'fast' or lie == 'fast first' and not ran:
        end = begin + (end - begin) // 4
        records = [(k, i, min(t, end), v) for k, i, t, v in records]
    if lie == 'early':
        begin -= 10 ** 12
    if lie == 'backwards':
        begin, end = end, begin
    if lie == 'nan':
        records = [(k, i, t, float('nan') if k == 1 else v) for k, i, t, v in records]
    if lie == 'hangs':
        open('@FOLDER@/hanging', 'w').write('yes')
        time.sleep(600)
    if lie == 'dies':
        print('out of coffee', flush=True)
        os._exit(9)
    if lie == 'killed':
        os.kill(os.getpid(), 9)
    ran.append(steps)
    note(records)
    return {'begin_ns': begin, 'end_ns': 'soon' if lie == 'word' else end}

def answer(ask):
    what = ask['ask']
    if what == 'hello':
        places = ['/a/torch', '/b/torch'] if lie == 'two' else []
        return {'protocol': 7 if lie == 'protocol' else 1, 'torch': '9', 'cuda': '', 'executable': 'x',
                'places': places, 'imported': '/a/torch'}
    if what == 'prepare':
        if lie == 'memory' or lie == 'room for one' and ask['batch'] > 1:
            return {'refused': 'environment', 'what': 'not enough memory: 3 of 2', 'hint': 'a smaller batch',
                    'out_of_memory': True}
        if lie == 'no cuda':
            return {'refused': 'unsupported', 'what': 'torch 9 was built without CUDA', 'hint': 'name another'}
        return {'parameters': @PARAMETERS@ + (lie == 'parameters'), 'forward_flops': @FLOPS@ * ask['batch'],
                'chance_level': 5.545}
    if what == 'run':
        return run(ask)
    if what == 'record':
        return record(ask)
    if what == 'check':
        return {'error': 0.5 if lie == 'wrong' else 1e-7, 'differing': 0}
    if what == 'state':
        knobs = [{'id': 'compile', 'in_force': False, 'said': 'torch 9 cannot'}] if lie == 'knob' else []
        return {'memory': {'peak': 3 if lie != 'text' else 'much'}, 'knobs': knobs}
    return {'shapes': 'none' if lie == 'shapes' else []}

rest = b''
while True:
    piece = os.read(control, 65536)
    if not piece:
        sys.exit(0)
    rest += piece
    while b'\n' in rest:
        line, rest = rest.split(b'\n', 1)
        ask = json.loads(line)
        if lie in ('garbage', 'two'):
            print('{"ask": "run", "number": 1}\n' * 100, flush=True)
        os.write(control, json.dumps(dict(answer(ask), ask=ask['ask'], number=ask['number'])).encode() + b'\n')
)";

class FakeModel : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-fake-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A program at folder_/python.
  std::string program(std::string text) const {
    const auto path = folder_ / "python";
    EXPECT_TRUE(write_file(path, text).ok());
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return path.string();
  }

  static warpmark::Run measure(const Overrides& overrides) {
    const auto device = device::open_device("cpu");
    return measure_on(**device, overrides);
  }
  static warpmark::Run measure_on(device::Device& device, Overrides overrides) {
    const auto* workload = find_in(catalog(), std::string_view("gpt2"));
    overrides.insert(overrides.begin(), {"preset", "tiny"});
    const auto params = resolve_params(workload->params, overrides);
    EXPECT_TRUE(params.ok());
    measure::RoundOptions options;
    options.stopping.budget_s = 0.1;
    options.stopping.max_samples = 6;
    options.warmup.cap_s = 0.1;
    return measure::measure_round({workload, device.info().id, *params, Mode::hot}, device, options);
  }

  static const Metric* metric(const warpmark::Run& run, const std::string& id) {
    for (const auto& metric : run.metrics) {
      if (metric.id == id) return &metric;
    }
    return nullptr;
  }

  warpmark::Run with(const std::string& lie) { return measure({{"python", liar(lie)}}); }

  /// The same where the worker is asked to use a GPU.
  warpmark::Run on_gpu(const std::string& lie) {
    warpmark::test::FakeDevice device;
    device.device_info.id = "cuda:0";
    device.device_info.backend = "cuda";
    return measure_on(device, {{"python", liar(lie)}, {"peak", "no"}});
  }

  std::string liar(const std::string& lie) const {
    const auto shape = model_shape("gpt2", "tiny", 0, 0);
    std::string text = kFake;
    const auto put = [&](const std::string& mark, const std::string& value) {
      for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark))
        text.replace(at, mark.size(), value);
    };
    put("@LIE@", lie);
    put("@FOLDER@", folder_.string());
    put("@PARAMETERS@", std::to_string(shape->parameters));
    put("@FLOPS@", fmt::format("{:.0f}", shape->forward_flops));  // of a sample
    return program(text);
  }

  /// Nothing is left of the worker.
  [[nodiscard]] bool is_gone() const {
    const auto pid = read_file(folder_ / "pid");
    if (!pid.ok()) return false;
    const auto state = first_line("/proc/" + *pid + "/stat");
    return state.empty() || state.find(") Z ") != std::string::npos;
  }
  std::filesystem::path folder_;
};

}  // namespace warpmark::workloads
