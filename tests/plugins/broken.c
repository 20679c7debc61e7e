/* Plugins that misbehave, one at a time by -DWARPMARK_BROKEN_<KIND>: what warpmark must survive or refuse. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "warpmark/plugin.h"

static int cost(const wm_case* what, wm_cost* cost, wm_error* error) {
  (void)what, (void)error;
  cost->flops = WARPMARK_BROKEN_COST;
  cost->footprint_bytes = 64;
  return 0;
}

static int prepare(const wm_case* what, void** state, wm_error* error) {
  (void)what, (void)state;
  memset(error->what, 'x', sizeof error->what); /* not terminated */
  memset(error->hint, 'y', sizeof error->hint);
  return WARPMARK_BROKEN_PREPARE;
}

static int launch(void* state, void* stream, size_t set) {
  (void)state, (void)stream, (void)set;
  if (WARPMARK_BROKEN_CRASH) raise(SIGSEGV);
  return 0;
}

static int poison(void* state, wm_error* error) {
  (void)state, (void)error;
  return 0;
}

static int check(void* state, size_t set, wm_check* check, wm_error* error) {
  (void)state, (void)set, (void)error;
  check->value = NAN;
  check->tolerance = 1;
  memset(check->norm, 'n', sizeof check->norm); /* not terminated */
  return 0;
}

static void release(void* state) { (void)state; }

static const wm_workload kBroken = {sizeof(wm_workload), "broken", "misbehaves", "cpu",  "hot",  NULL,   0,
                                    cost,                prepare,  launch,       poison, check, release};
static const wm_workload* const kWorkloads[] = {&kBroken};
static const wm_plugin kPlugin = {sizeof(wm_plugin), WARPMARK_BROKEN_ABI, "broken", "1", kWorkloads, 1};

const wm_plugin* warpmark_plugin(void) { return &kPlugin; }
