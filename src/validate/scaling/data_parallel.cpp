#include "validate/scaling/data_parallel.h"

#include <algorithm>

namespace warpmark::validate {

DataParallelJob compressed(DataParallelJob job, double ratio) {
  job.gradient_bytes *= ratio;
  job.bucket_bytes *= ratio;
  return job;
}

double message_bytes(const DataParallelJob& job) { return std::min(job.bucket_bytes, job.gradient_bytes); }

DataParallelStep data_parallel_step(const DataParallelJob& job, double message_s) {
  DataParallelStep step;
  const double messages = message_bytes(job) > 0 ? job.gradient_bytes / message_bytes(job) : 0;
  step.communication_s = messages * message_s;
  const double behind_s = job.overlap * job.backward_share * job.step_s;
  step.exposed_s = std::max(exposed_exchange_s(step.communication_s, behind_s, job.contention),
                            std::min(step.communication_s, message_s));
  const double computing_s = job.accumulation * job.step_s;
  step.step_s = computing_s + step.exposed_s;
  step.efficiency = step.step_s > 0 ? computing_s / step.step_s : 0;
  return step;
}

double exposed_exchange_s(double exchange_s, double behind_s, double contention) {
  const double hidden_s = std::min(exchange_s, behind_s);
  return exchange_s - hidden_s + contention * hidden_s;
}

}  // namespace warpmark::validate
