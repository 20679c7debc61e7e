/* A plugin with one CPU workload: the dot product of two vectors of floats, added up in double.
 *
 *   cc -O3 -shared -fPIC -I include examples/plugin/dot.c -o dot.so -lm
 *   warpmark run dot --plugin ./dot.so
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warpmark/plugin.h"

typedef struct dot_state {
  size_t n;
  size_t sets;
  float* x; /* [sets][n] */
  float* y; /* [sets][n] */
  double* out; /* [sets] */
} dot_state;

static int64_t length_of(const wm_case* what) { return what->values[0].integer; }

static int fail(wm_error* error, const char* what, const char* hint) {
  snprintf(error->what, sizeof error->what, "%s", what);
  snprintf(error->hint, sizeof error->hint, "%s", hint);
  return 1;
}

static int dot_cost(const wm_case* what, wm_cost* cost, wm_error* error) {
  const int64_t n = length_of(what);
  if (n < 1) return fail(error, "n must be at least 1", "such as --set n=1000000");
  cost->flops = 2.0 * (double)n;
  cost->bytes = 8.0 * (double)n;
  cost->footprint_bytes = 8 * n + 8;
  strcpy(cost->flop_type, "f32");
  return 0;
}

static void dot_release(void* opaque) {
  dot_state* state = opaque;
  free(state->x);
  free(state->y);
  free(state->out);
  free(state);
}

/* xorshift64*: any generator will do, as long as the same seed gives the same inputs. */
static float random_float(uint64_t* state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (float)((*state * 2685821657736338717ULL) >> 40) / 16777216.0F;
}

static int dot_prepare(const wm_case* what, void** out, wm_error* error) {
  dot_state* state = calloc(1, sizeof *state);
  if (state == NULL) return fail(error, "out of memory", "give a smaller n");
  state->n = (size_t)length_of(what);
  state->sets = what->sets;
  const size_t count = state->n * state->sets;
  state->x = malloc(count * sizeof(float));
  state->y = malloc(count * sizeof(float));
  state->out = malloc(state->sets * sizeof(double));
  if (state->x == NULL || state->y == NULL || state->out == NULL) {
    dot_release(state);
    return fail(error, "out of memory", "give a smaller n");
  }
  uint64_t random = what->seed * 2 + 1;
  for (size_t i = 0; i < count; ++i) {
    state->x[i] = random_float(&random);
    state->y[i] = random_float(&random);
  }
  *out = state;
  return 0;
}

static int dot_launch(void* opaque, void* stream, size_t set) {
  (void)stream;
  dot_state* state = opaque;
  const float* x = state->x + set * state->n;
  const float* y = state->y + set * state->n;
  double sums[8] = {0};
  size_t i = 0;
  for (; i + 8 <= state->n; i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) sums[lane] += (double)x[i + lane] * (double)y[i + lane];
  }
  double sum = 0;
  for (size_t lane = 0; lane < 8; ++lane) sum += sums[lane];
  for (; i < state->n; ++i) sum += (double)x[i] * (double)y[i];
  state->out[set] = sum;
  return 0;
}

static int dot_poison(void* opaque, wm_error* error) {
  (void)error;
  dot_state* state = opaque;
  memset(state->out, 0xFF, state->sets * sizeof(double)); /* NaN */
  return 0;
}

static int dot_check(void* opaque, size_t set, wm_check* check, wm_error* error) {
  (void)error;
  const dot_state* state = opaque;
  long double reference = 0;
  for (size_t i = 0; i < state->n; ++i) {
    reference += (long double)state->x[set * state->n + i] * (long double)state->y[set * state->n + i];
  }
  check->value = (double)(fabsl((long double)state->out[set] - reference) / fabsl(reference));
  check->tolerance = 1e-12;
  strcpy(check->norm, "relative error");
  strcpy(check->reference, "sum in long double");
  return 0;
}

static const wm_param kParams[] = {{"n", WM_INTEGER, "1000000", "length of the vectors", ""}};

static const wm_workload kDot = {
    .struct_size = sizeof(wm_workload),
    .id = "dot",
    .summary = "dot product of two vectors, one thread",
    .backend = "cpu",
    .mode = "cold",
    .params = kParams,
    .param_count = 1,
    .cost = dot_cost,
    .prepare = dot_prepare,
    .launch = dot_launch,
    .poison = dot_poison,
    .check = dot_check,
    .release = dot_release,
};

static const wm_workload* const kWorkloads[] = {&kDot};

static const wm_plugin kPlugin = {sizeof(wm_plugin), WARPMARK_PLUGIN_ABI, "dot example", "1.0", kWorkloads, 1};

const wm_plugin* warpmark_plugin(void) { return &kPlugin; }
