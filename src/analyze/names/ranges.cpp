#include "analyze/names/ranges.h"

#include "analyze/names/words.h"

namespace warpmark::analyze {

bool names_data_loading(std::string_view range) {
  return contains_any(range, {"dataloader", "data_loader", "data loader", "data_loading", "data loading", "dataloading",
                              "load_data", "load_batch", "next_batch", "get_batch", "fetch_batch", "batch_fetch",
                              "input_pipeline", "data_fetch", "fetch_data", "loader.__next__", "data_time"});
}

bool names_optimizer_step(std::string_view range) {
  return contains_any(range, {"optimizer.step", "optimizer_step", "optimizer step", "optim.step", "optim_step",
                              "opt.step", "_fused_adam", "_fused_sgd", "_foreach_addcdiv", "_foreach_lerp"}) &&
         !contains_any(range, {"zero_grad"});
}

Loader loader_of(std::string_view range) {
  if (!names_data_loading(range)) return Loader::none;
  if (contains_any(range, {"_singleprocessdataloaderiter"})) return Loader::single;
  return contains_any(range, {"_multiprocessingdataloaderiter"}) ? Loader::multi : Loader::some;
}

bool names_worker_restart(std::string_view frame) {
  return contains_any(frame, {"dataloader.py"}) && contains_any(frame, {"_get_iterator", "_shutdown_workers"});
}

std::string optimizer_class(const NameTable& names) {
  constexpr std::string_view kBefore = "Optimizer.step#";
  for (NameId i = 0; i < names.size(); ++i) {
    std::string_view name = names.at(i);
    if (!name.starts_with(kBefore)) continue;
    name.remove_prefix(kBefore.size());
    return std::string(name.substr(0, name.find('.')));
  }
  return "";
}

bool names_profiler_step(std::string_view range) { return contains_any(range, {"profilerstep"}); }

bool names_step(std::string_view range) {
  if (names_data_loading(range) || names_optimizer_step(range) || contains_any(range, {"zero_grad"})) return false;
  return contains_any(range, {"step", "iteration", "train_batch", "execute_", "run_batch"});
}

bool names_module(std::string_view call) { return call.starts_with("nn.Module: "); }

// torch.autograd.profiler.emit_nvtx names operators "aten::mm, op_id = 3", c10d its collectives "nccl:all_reduce".
bool names_part(std::string_view range) {
  return contains_any(range, {"aten::", "op_id =", "nccl:", "gloo:", "mpi:", "c10d", "nn.module", "layer", "block"});
}

std::string without_digits(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c < '0' || c > '9') result += c;
  }
  return result;
}

bool is_same_but_digits(std::string_view range, std::string_view plain) {
  std::size_t at = 0;
  for (const char c : range) {
    if (c >= '0' && c <= '9') continue;
    if (at == plain.size() || plain[at] != c) return false;
    ++at;
  }
  return at == plain.size();
}

bool names_migration(std::string_view copy) {
  return copy.starts_with("Page migration") && !copy.ends_with("(prefetch by the program)");
}

bool names_backward_pass(std::string_view range) { return contains_any(range, {"backward"}); }

bool names_sharding(std::string_view range) {
  return range.starts_with("FSDP::") || range.starts_with("FullyShardedDataParallel") ||
         range.starts_with("RegisterPostBackwardFunction");
}

bool names_profiled_step(std::string_view range) { return range.starts_with("ProfilerStep#"); }

bool reads_value(std::string_view op) { return op == "aten::item"; }

bool waits_for_array(std::string_view range) {
  return contains_any(range, {"np.asarray(jax.array)", "blockhostuntilready", "block_until_ready"});
}

bool stages_upload(std::string_view range) { return contains_any(range, {"h2d dispatch"}); }

bool names_xla_execution(std::string_view range) { return range.starts_with("XlaModule:"); }

bool is_host_collective(std::string_view range) {
  return (range.starts_with("gloo:") || range.starts_with("mpi:")) && !range.ends_with(":barrier");
}

bool names_data_parallel(std::string_view name) {
  return name == "DataParallel.forward" || holds_any(name, {"nn/parallel/data_parallel.py"});
}

}  // namespace warpmark::analyze
