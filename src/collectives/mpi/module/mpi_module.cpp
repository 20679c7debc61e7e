// libwarpmark_mpi.so: the calls to MPI, and nothing else. Averages are a sum and a division; half precision, which MPI
// has not, is reduced by functions of our own, in float, rounded after each step.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "base/float_types.h"
#include "collectives/mpi/mpi_module_api.h"

namespace warpmark::collectives {
namespace {

struct World {
  int rank = 0;
  int ranks = 1;
  std::array<MPI_Op, 10> half_ops{};  ///< f16, then bf16, in the order of ReduceOp
};

World& world() {
  static World instance;
  return instance;
}

float combined(float a, float b, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg: return a + b;
    case ReduceOp::prod: return a * b;
    case ReduceOp::min: return std::min(a, b);
    case ReduceOp::max: return std::max(a, b);
  }
  return a;
}

template <float (*widen)(std::uint16_t), std::uint16_t (*narrow)(float), ReduceOp op>
void reduce_half(void* in, void* in_out, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const std::uint16_t*>(in);
  auto* to = static_cast<std::uint16_t*>(in_out);
  for (int i = 0; i < *count; ++i) to[i] = narrow(combined(widen(from[i]), widen(to[i]), op));
}

template <float (*widen)(std::uint16_t), std::uint16_t (*narrow)(float)>
int make_half_ops(MPI_Op* ops) {
  const std::array functions{reduce_half<widen, narrow, ReduceOp::sum>, reduce_half<widen, narrow, ReduceOp::prod>,
                             reduce_half<widen, narrow, ReduceOp::min>, reduce_half<widen, narrow, ReduceOp::max>,
                             reduce_half<widen, narrow, ReduceOp::avg>};
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (const int code = MPI_Op_create(functions[i], 1, &ops[i]); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int start(int* rank, int* ranks, int* local_rank) {
  int provided = 0;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided)) return code;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, ranks);
  MPI_Comm host;
  if (const int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host)) return code;
  MPI_Comm_rank(host, local_rank);
  MPI_Comm_free(&host);
  world().rank = *rank;
  world().ranks = *ranks;
  if (const int code = make_half_ops<f16_to_float, float_to_f16>(world().half_ops.data())) return code;
  return make_half_ops<bf16_to_float, float_to_bf16>(world().half_ops.data() + 5);
}

int finish() { return MPI_Finalize(); }

void version(char* text, int capacity) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> whole{};
  int length = 0;
  MPI_Get_library_version(whole.data(), &length);
  const std::size_t end = std::string_view(whole.data()).find(',');
  if (end != std::string_view::npos) whole[end] = '\0';
  std::snprintf(text, static_cast<std::size_t>(capacity), "%s", whole.data());
}

void error_text(int code, char* text, int capacity) {
  std::array<char, MPI_MAX_ERROR_STRING> whole{};
  int length = 0;
  MPI_Error_string(code, whole.data(), &length);
  std::snprintf(text, static_cast<std::size_t>(capacity), "%s", whole.data());
}

int barrier() { return MPI_Barrier(MPI_COMM_WORLD); }
int all_gather(const double* mine, int count, double* all) {
  return MPI_Allgather(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, MPI_COMM_WORLD);
}
int broadcast(void* data, int bytes, int from) { return MPI_Bcast(data, bytes, MPI_BYTE, from, MPI_COMM_WORLD); }
int send(const void* data, int bytes, int to) { return MPI_Send(data, bytes, MPI_BYTE, to, 7, MPI_COMM_WORLD); }
int receive(void* data, int bytes, int from) {
  return MPI_Recv(data, bytes, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

MPI_Datatype type_of(DataType type) {
  switch (type) {
    case DataType::f64: return MPI_DOUBLE;
    case DataType::f32: return MPI_FLOAT;
    case DataType::f16:
    case DataType::bf16: return MPI_UINT16_T;
    case DataType::int8: return MPI_INT8_T;
    case DataType::uint8: return MPI_UINT8_T;
    case DataType::int32: return MPI_INT32_T;
    case DataType::int64: return MPI_INT64_T;
  }
  return MPI_BYTE;
}

MPI_Op op_of(DataType type, ReduceOp op) {
  const auto number = static_cast<std::size_t>(op);
  if (type == DataType::f16) return world().half_ops[number];
  if (type == DataType::bf16) return world().half_ops[5 + number];
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg: return MPI_SUM;
    case ReduceOp::prod: return MPI_PROD;
    case ReduceOp::min: return MPI_MIN;
    case ReduceOp::max: return MPI_MAX;
  }
  return MPI_SUM;
}

template <typename T>
void divide(void* data, std::int64_t count, int by) {
  T* elements = static_cast<T*>(data);
  for (std::int64_t i = 0; i < count; ++i) elements[i] = static_cast<T>(elements[i] / static_cast<T>(by));
}

template <float (*widen)(std::uint16_t), std::uint16_t (*narrow)(float)>
void divide_half(void* data, std::int64_t count, int by) {
  auto* elements = static_cast<std::uint16_t*>(data);
  for (std::int64_t i = 0; i < count; ++i) elements[i] = narrow(widen(elements[i]) / static_cast<float>(by));
}

void average(const Call& call, void* data) {
  const std::int64_t count = call.counts.receive;
  switch (call.type) {
    case DataType::f64: return divide<double>(data, count, world().ranks);
    case DataType::f32: return divide<float>(data, count, world().ranks);
    case DataType::f16: return divide_half<f16_to_float, float_to_f16>(data, count, world().ranks);
    case DataType::bf16: return divide_half<bf16_to_float, float_to_bf16>(data, count, world().ranks);
    case DataType::int8: return divide<std::int8_t>(data, count, world().ranks);
    case DataType::uint8: return divide<std::uint8_t>(data, count, world().ranks);
    case DataType::int32: return divide<std::int32_t>(data, count, world().ranks);
    case DataType::int64: return divide<std::int64_t>(data, count, world().ranks);
  }
}

int moved(const Call& call, const void* send, void* receive) {
  const auto count = static_cast<int>(call.counts.parameter);
  const MPI_Datatype type = type_of(call.type);
  const bool at_root = world().rank == call.root;
  const void* from = call.in_place ? MPI_IN_PLACE : send;
  switch (call.kind) {
    case Collective::all_gather: return MPI_Allgather(from, count, type, receive, count, type, MPI_COMM_WORLD);
    case Collective::alltoall: return MPI_Alltoall(from, count, type, receive, count, type, MPI_COMM_WORLD);
    case Collective::gather:
      return MPI_Gather(call.in_place && at_root ? MPI_IN_PLACE : send, count, type, receive, count, type, call.root,
                        MPI_COMM_WORLD);
    case Collective::scatter:
      return MPI_Scatter(send, count, type, call.in_place && at_root ? MPI_IN_PLACE : receive, count, type, call.root,
                         MPI_COMM_WORLD);
    case Collective::broadcast:
      // MPI's broadcast knows one buffer: out of place, the root's copy to its own receive buffer belongs to it.
      if (!call.in_place && at_root) {
        std::memcpy(receive, send, static_cast<std::size_t>(count) * size_of(call.type));
        return MPI_Bcast(const_cast<void*>(send), count, type, call.root, MPI_COMM_WORLD);
      }
      return MPI_Bcast(receive, count, type, call.root, MPI_COMM_WORLD);
    case Collective::sendrecv: {
      const int next = (world().rank + 1) % world().ranks;
      const int before = (world().rank + world().ranks - 1) % world().ranks;
      if (call.in_place) {
        return MPI_Sendrecv_replace(receive, count, type, next, 3, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      return MPI_Sendrecv(send, count, type, next, 3, receive, count, type, before, 3, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE);
    }
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::reduce: break;
  }
  return MPI_ERR_ARG;
}

int reduced(const Call& call, const void* send, void* receive) {
  const auto count = static_cast<int>(call.counts.parameter);
  const MPI_Datatype type = type_of(call.type);
  const MPI_Op op = op_of(call.type, call.op);
  const void* from = call.in_place ? MPI_IN_PLACE : send;
  switch (call.kind) {
    case Collective::all_reduce: return MPI_Allreduce(from, receive, count, type, op, MPI_COMM_WORLD);
    case Collective::reduce_scatter: return MPI_Reduce_scatter_block(from, receive, count, type, op, MPI_COMM_WORLD);
    case Collective::reduce:
      return MPI_Reduce(call.in_place && world().rank == call.root ? MPI_IN_PLACE : send, receive, count, type, op,
                        call.root, MPI_COMM_WORLD);
    default: return MPI_ERR_ARG;
  }
}

int call(const Call* what, const void* send, void* receive) {
  if (!info_of(what->kind).reduces) return moved(*what, send, receive);
  const int code = reduced(*what, send, receive);
  const bool has_result = what->kind != Collective::reduce || world().rank == what->root;
  if (code == MPI_SUCCESS && what->op == ReduceOp::avg && has_result) average(*what, receive);
  return code;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const MpiModule* warpmark_mpi_module() {
  static const MpiModule module{.abi = kMpiModuleAbi,
                                .version = version,
                                .error_text = error_text,
                                .start = start,
                                .finish = finish,
                                .barrier = barrier,
                                .all_gather = all_gather,
                                .broadcast = broadcast,
                                .send = send,
                                .receive = receive,
                                .call = call};
  return &module;
}

}  // namespace warpmark::collectives
