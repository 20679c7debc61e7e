#include "warpmark/terminal/topics.h"

#include <algorithm>

#include "base/text.h"

namespace warpmark::apps {
namespace {

// The first command of a topic is what an unknown verb of that name suggests.
constexpr Topic kTopics[] = {
    {"nccl nccl-tests all-reduce allreduce all-gather alltoall busbw algbw collective-communication",
     "Bandwidth and latency of collectives over NCCL or MPI, with the options and columns of nccl-tests.",
     "warpmark collective all_reduce\nwarpmark collective all_reduce -b 8 -e 1G -f 2 -g 8\nwarpmark links"},
    {"iperf iperf3 network tcp ethernet infiniband bandwidth-test ping",
     "TCP bandwidth and latency between hosts, and the traffic of a running program by peer.",
     "warpmark net server\nwarpmark net client node7\nwarpmark net live -- mpirun -n 16 ./train"},
    {"mlperf loadgen mllog submission rcp",
     "MLPerf: the scenarios of inference, the log of a training, and training to a target quality.",
     "warpmark load run --mlperf Server --workload bert\nwarpmark mllog result_0.txt\n"
     "warpmark run resnet50 --until 'accuracy>=0.759'"},
    {"ttft tpot itl e2e latency tokens-per-second llm genai-bench vllm sglang tensorrt-llm locust serving load-test",
     "Time to first token, time per output token and throughput of an inference server under load. Command lines of "
     "genai-bench and of vLLM's bench serve are understood.",
     "warpmark load run --api-base http://localhost:8000 --api-model-name m --num-concurrency 1,8,64\n"
     "warpmark load compare vllm/ sglang/\nwarpmark load server --port 8000"},
    {"sla slo goodput objective deadline limit target",
     "Limits that a result must meet: objectives of a server's latency, limits of a pipeline's stages in the project "
     "file, goals of a benchmark, acceptance criteria of a machine.",
     "warpmark load run --api-base http://localhost:8000 --api-model-name m --slo 'ttft:p99<500ms,errors<1%'\n"
     "warpmark run --project warpmark.yaml\nwarpmark run resnet50 --goal 'samples_rate>=2400'\n"
     "warpmark accept h100-sxm --measure"},
    {"cost price dollar dollars money gpu-hour gpu-hours euro",
     "What a training or a request costs: give the price of an hour.",
     "warpmark optimize --price 32 --train-steps 1000000 -- python train.py\n"
     "warpmark load run --api-base http://localhost:8000 --api-model-name m --gpu-hour-price 2.5\n"
     "warpmark plan --model llama3-70b --gpus 8 --price 2.5\n"
     "warpmark compare --rev-a main --rev-b HEAD --monthly-cost 180000\n"
     "warpmark compare a.json b.json --across-machines --price-a 2.5 --price-b 3.4"},
    {"bubble pipeline-parallel tensor-parallel zero fsdp deepspeed parallelism megatron layout micro-batch offload",
     "How to spread a model over GPUs: memory, step time, pipeline bubble and micro-batches of each layout.",
     "warpmark plan --model llama3-70b --gpus 64\nwarpmark plan --model llama3-70b --layout tp=8,pp=8"},
    {"checklist acceptance burn-in node-validation qualification",
     "Does a machine reach its expected speed, and is it set up right?",
     "warpmark accept training-node --measure\nwarpmark doctor\nwarpmark list criteria"},
    {"export excel xlsx spreadsheet csv pandas parquet",
     "Results for other programs: every verb writes JSON with --json, stored sessions are exported.",
     "warpmark history export last --format csv --out results.csv\nwarpmark report last --format md\n"
     "warpmark load excel --experiment-folder vllm/"},
    {"hyperfine benchmark-command ab a/b ab-test significance p-value speedup",
     "Is one command, setting or git revision faster than another? Interleaved runs and a sequential test.",
     "warpmark compare -- './bench --old' -- './bench --new'\nwarpmark compare --rev-a main --rev-b HEAD\n"
     "warpmark run -- ./bench"},
    {"nsys nsight nsight-systems profiler profiling trace tracing flamegraph timeline perf pytorch-profiler "
     "torch-profiler tensorboard kineto chrome-trace perfetto",
     "Record a program, or analyze what another profiler recorded: nsys, torch.profiler, JAX, rocprof, perf.",
     "warpmark profile -- python train.py\nwarpmark analyze trace.json.gz\nwarpmark list readers"},
    {"ncu nsight-compute occupancy kernel-metrics warp-stalls sm-efficiency",
     "Metrics of single kernels: record with Nsight Compute, or analyze its CSV.",
     "warpmark profile --ncu 5 -- python train.py\nwarpmark analyze metrics.csv\nwarpmark list rules"},
    {"bottleneck slow bottlenecks diagnose dataloader data-loading idle starvation",
     "Where a training or inference step loses its time, and how much each fix would save.",
     "warpmark analyze trace.json.gz\nwarpmark optimize -- python train.py"},
    {"tune tuning autotune amp bf16 torch.compile checkpointing cuda-graph num_workers pin_memory channels_last",
     "Find settings that make a program faster, and prove it in fresh processes.",
     "warpmark optimize -- python train.py\nwarpmark optimize --list-knobs -- python train.py"},
    {"bench benchmark measure time timing microbenchmark",
     "Measure this machine, one of its benchmarks, or a command of yours.",
     "warpmark run\nwarpmark run gemm\nwarpmark run -- ./bench"},
    {"test verify", "Prove that a change is faster and as accurate, or only whether it is faster.",
     "warpmark validate './bench --old' './bench --new'\nwarpmark compare -- './bench --old' -- './bench --new'"},
    {"serve server reference-server mock-server", "A reference server with scripted times, to try load tests on.",
     "warpmark load server --port 8000 --ttft 80ms --itl 20ms\nwarpmark net server"},
    {"diff difference", "Two files of results, two stored sessions, or two profiles.",
     "warpmark compare a.json b.json\nwarpmark history diff 20260301-12 last\n"
     "warpmark analyze new.json.gz --against old.json.gz"},
    {"import upload", "Results of other tools, stored with yours.",
     "warpmark history import bench.json\nwarpmark list formats"},
    {"roofline peak mfu tflops gflops flops bandwidth stream gemm",
     "What this hardware reaches, in numbers and as a share of its peak.",
     "warpmark run\nwarpmark run gemm --sweep m=1024,2048,4096\nwarpmark list workloads"},
    {"scaling weak-scaling strong-scaling efficiency amdahl multi-gpu ddp",
     "How a command speeds up with GPUs or processes, and what limits it.",
     "warpmark scale --gpus 1,2,4,8 -- torchrun --nproc-per-node {gpus} train.py\nwarpmark scale --times 1=620s,8=95s"},
    {"regression ci github gitlab jenkins pull-request badge gate pytest-benchmark google-benchmark "
     "pr conbench otava bencher codspeed asv",
     "Fail a build that is slower: against the base revision, a file or the history of a branch.",
     "warpmark compare --rev-a main --rev-b HEAD --format github\n"
     "warpmark check --results new.json --baseline old.json --threshold 5%\nwarpmark check\n"
     "warpmark history import bench.json"},
    {"prometheus grafana dcgm nvidia-smi utilization power temperature metrics-exporter gpu "
     "top htop nvtop nvitop stat status fleet daemonset",
     "Utilization, memory, clocks and power of the GPUs: live, as a log, for Prometheus.",
     "warpmark monitor\nwarpmark exporter\nwarpmark monitor --summary --duration 1m"},
    {"alert alerts slack webhook notification", "Notify a group when a result or a machine goes bad.",
     "warpmark watch rules.yaml --dry-run"},
    {"score rouge bleu f1 exact-match accuracy quality squad mmlu humaneval gsm8k helm lm-eval perplexity",
     "Scores of answers with intervals, and a test whether a faster model is as good.",
     "warpmark eval score bleu,chrf --ref ref.txt --predictions base.txt\n"
     "warpmark eval compare fp16.jsonl int8.jsonl --metric mmlu --margin 0.01"},
    {"allclose rtol atol numerical-accuracy output-comparison",
     "Are the outputs of a faster version the same, within a tolerance?",
     "warpmark allclose ref.tsv out.tsv --rtol 1e-3 --atol 1e-3"},
    {"energy watt watts power-cap performance-per-watt joule",
     "Energy of a command or benchmark, and what a lower power limit costs.",
     "warpmark run -- ./train\nwarpmark scale --gpus 1 --power-cap-sweep 50%,75%,100% -- ./train"},
    {"memory oom out-of-memory fragmentation memory-snapshot kv-cache",
     "What fills the GPU's memory: peaks of a run, allocations of a profile, the need of a training on paper.",
     "warpmark analyze trace.json.gz\nwarpmark plan --model llama2-7b --gpu rtx-4090 --gpus 1 --tune qlora"},
    {"n median mean min max sd stdev mad cv ± spread outliers lag-1 p50 p90 p95 p99 percentile percentiles columns",
     "Columns of samples. n: their number. ±: half the 95 % interval of the median, as a share of it. sd, MAD, cv: "
     "standard deviation, median absolute deviation, sd / mean. spread: (slowest - fastest) / median. p95: 95 % of the "
     "samples are below it; absent where n is too small. lag-1: correlation of neighbouring samples. outliers: samples "
     "far outside the quartiles.",
     "warpmark report last --details"},
    {"p verdict interval confidence b/a effect alpha holm inconclusive unreliable same better worse allowed",
     "Columns of a verdict. B / A: ratio of the medians. interval: 95 % confidence interval of that ratio. p: chance "
     "of such a difference without a cause, adjusted for the number of metrics (Holm). allowed, limit: what a result "
     "may "
     "reach. inconclusive: too few runs; unreliable: the machine was disturbed.",
     "warpmark compare -- './bench --old' -- './bench --new'\nwarpmark check"},
    {"bound of-peak share mode hot cold graph rate outlier",
     "Columns of benchmarks. bound: what limits the work (compute, memory, launch). of peak: share of the highest rate "
     "measured on this machine; '>=' where a term was not measured. mode: cold inputs rotate over more than the cache, "
     "hot repeats one input, graph replays a CUDA graph. outlier: a GPU slower than the others by more than 5 %.",
     "warpmark run\nwarpmark report last --details"},
    {"slurm mpirun multi-node hosts kubernetes", "Several hosts: profiles, collectives and loads take a hosts file.",
     "warpmark collective alltoall --ranks 16 --hosts hosts.txt\n"
     "warpmark profile --hosts hosts.txt --ranks 16 -- python train.py"},
    {"fio storage disk nvme io read-rate", "How fast a folder's storage is, and whether it feeds the training.",
     "warpmark run storage\nwarpmark run loader"},
    {"environment-variables no_color config configuration defaults",
     "Defaults of options stand in ~/.config/warpmark/config.yaml; docs/environment.md lists the variables.",
     "warpmark help run"},
};

constexpr Term kTerms[] = {
    {"A, B", "the two variants of a comparison; A is the baseline"},
    {"baseline", "what a result is compared with: A, or the history of a branch since its last change point"},
    {"bound", "the resource that limits a benchmark: compute, bandwidth, launch, link"},
    {"bubble", "time in which a pipeline's stage has no micro-batch to work on"},
    {"busbw, algbw", "bandwidth of a collective as nccl-tests defines it: per link, and size over time"},
    {"ceiling, peak", "the highest rate that this machine reached in the same session; not the datasheet's"},
    {"change point", "the commit or session at which a history moves to a new baseline"},
    {"closed loop, open loop", "users who wait for their answer; requests at fixed times, whatever the server does"},
    {"cold, hot", "inputs from memory; inputs from the caches"},
    {"critical path", "the chain of host and GPU work that determines the time of a step"},
    {"effect", "the smallest difference that matters (`--effect`)"},
    {"exit code",
     "0: done; 1: a result is worse or a gate failed; 2: usage or bad input; 3: inconclusive; 4: rejected for its "
     "accuracy; 5: no valid measurement (docs/cli/exit-codes.md)"},
    {"fingerprint",
     "hash of the facts that decide speed: CPU, GPUs, driver, kernel; results of different fingerprints are not "
     "compared"},
    {"Holm", "correction of p over several metrics, so that one false alarm in all of them stays below alpha"},
    {"interval", "95 % confidence interval unless it says otherwise"},
    {"knob", "a setting that `optimize` can change"},
    {"MFU", "model FLOPs utilization: FLOPs of the model over time and the datasheet's peak"},
    {"reference", "a revision that is measured together with yours, so that the machine's noise cancels"},
    {"round", "one run of every case; samples of a case are spread over the rounds"},
    {"run, session", "the result of one case; all runs of one command"},
    {"SLO", "service level objective, such as `ttft:p99<500ms`"},
    {"straggler", "the rank or GPU that the others wait for"},
    {"suite", "a list of benchmarks with a budget"},
    {"time to quality", "how long a training takes until it reaches an accuracy or loss (`run MODEL --until GOAL`)"},
    {"TTFT, TPOT, ITL", "time to first token, time per output token after it, time between two tokens"},
    {"unreliable", "measured, but the machine was disturbed"},
    {"workload", "a built-in benchmark"},
};

}  // namespace

std::string folded_word(std::string_view word) {
  std::string text = ascii_lower(word);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '_' || c == ' '; }, '-');
  while (text.starts_with("-")) text.erase(0, 1);
  return text;
}

std::span<const Topic> topics() { return kTopics; }

const Topic* find_topic(std::string_view word) {
  const std::string wanted = folded_word(word);
  for (const auto& topic : kTopics) {
    for (const auto& known : split(topic.words, ' ')) {
      if (folded_word(known) == wanted) return &topic;
    }
  }
  return nullptr;
}

std::string first_command(const Topic& topic) { return split(topic.commands, '\n').front(); }

std::span<const Term> glossary() { return kTerms; }

const Term* find_term(std::string_view word) {
  const auto singular = [](std::string text) {
    if (text.ends_with('s')) text.pop_back();
    return text;
  };
  const std::string wanted = singular(folded_word(word));
  for (const auto& term : kTerms) {
    for (const auto& one : split(term.words, ',')) {
      if (singular(folded_word(trim(one))) == wanted) return &term;
    }
  }
  return nullptr;
}

std::string glossary_page() {
  std::string page = "# Glossary\n\n| word | meaning |\n|---|---|\n";
  for (const auto& term : kTerms) page += std::string("| ") + term.words + " | " + term.meaning + " |\n";
  return page;
}

}  // namespace warpmark::apps
