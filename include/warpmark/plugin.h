/* A user's own workloads in a shared library: the stable C interface of `warpmark run --plugin LIB.so`.
 *
 * The library exports one function, warpmark_plugin(), that returns a table of workloads. For every case warpmark calls
 *
 *     cost -> supports -> prepare -> (launch ...) -> poison -> (launch ...) -> check -> release
 *
 * from one thread. prepare makes `sets` independent input sets; launch does the work once on one of them and must not
 * allocate, print or wait (on a GPU it only enqueues on the given stream); poison overwrites every output; check
 * compares the outputs that the timed launches left with a reference. docs/plugins.md has a walk-through,
 * examples/plugin/ two complete plugins.
 *
 * Functions that return int return 0 for success; otherwise they fill the wm_error. Texts that the plugin returns stay
 * valid as long as the library is loaded. Structs grow only at their end and begin with their size, so that old plugins
 * run with new versions of warpmark and the other way round. */
#ifndef WARPMARK_PLUGIN_H
#define WARPMARK_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WARPMARK_PLUGIN_ABI 1

/* What went wrong, and what to do about it. Both are cut to their size and must end with a zero. */
typedef struct wm_error {
  char what[256];
  char hint[256];
} wm_error;

/* One parameter: a whole number, or a text out of choices ("f32|f64"; empty allows any). */
typedef enum wm_param_kind { WM_INTEGER = 0, WM_TEXT = 1 } wm_param_kind;
typedef struct wm_param {
  const char* name;
  wm_param_kind kind;
  const char* default_value;
  const char* help;
  const char* choices;
} wm_param;

/* The parameters of a case, in the order of the workload's table. */
typedef struct wm_value {
  const char* name;
  int64_t integer;  /* of WM_INTEGER */
  const char* text; /* of WM_TEXT */
} wm_value;

typedef struct wm_case {
  size_t struct_size;
  const wm_value* values;
  size_t value_count;
  size_t sets;   /* input sets to make; launch gets set < sets */
  uint64_t seed; /* of random inputs */
  int device;    /* index of the GPU; already current on CUDA; -1 on the CPU */
} wm_case;

/* Of one launch. */
typedef struct wm_cost {
  size_t struct_size;
  double flops;            /* operations the result needs, 0 if none */
  double bytes;            /* fewest bytes to and from memory */
  int64_t footprint_bytes; /* of one input set with its outputs */
  char flop_type[8];       /* "f32", "bf16", ...: whose peak rate limits it */
} wm_cost;

typedef struct wm_check {
  size_t struct_size;
  double value;       /* error; NaN fails */
  double tolerance;   /* passes if value <= tolerance */
  char norm[64];      /* what value is: "relative Frobenius norm" */
  char reference[64]; /* what it was compared with */
} wm_check;

typedef struct wm_workload {
  size_t struct_size;
  const char* id;      /* lower_case_with_underscores */
  const char* summary; /* one line */
  const char* backend; /* "cpu" or "cuda" */
  const char* mode;    /* default mode: "cold" or "hot" */
  const wm_param* params;
  size_t param_count;
  int (*cost)(const wm_case* what, wm_cost* cost, wm_error* error);
  int (*prepare)(const wm_case* what, void** state, wm_error* error);
  /* stream: a cudaStream_t on "cuda", NULL on "cpu" */
  int (*launch)(void* state, void* stream, size_t set);
  int (*poison)(void* state, wm_error* error);
  int (*check)(void* state, size_t set, wm_check* check, wm_error* error);
  void (*release)(void* state);
} wm_workload;

typedef struct wm_plugin {
  size_t struct_size;
  int abi; /* WARPMARK_PLUGIN_ABI */
  const char* name;
  const char* version;
  const wm_workload* const* workloads;
  size_t workload_count;
} wm_plugin;

/* The one symbol a plugin exports. Called once. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const wm_plugin*
warpmark_plugin(void);

#ifdef __cplusplus
}
#endif

#endif
