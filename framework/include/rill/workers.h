/* Workers: several engines on separate threads, with one input queue and one output.
 *
 * Workers decode whole inputs in parallel and share only the const model, so they scale with cores. Outputs do not depend on the worker.
 * Results come in input order, or by completion with `unordered`. One worker is rill_run(), without a thread.
 *
 *     rill_workers *workers;
 *     rill_workers_open(&workers, ctx, "mt", &open_options, &(rill_workers_options){sizeof(rill_workers_options), 2});
 *     rill_workers_begin(workers, setups);                       // setups[w]: of worker w; all may be the same
 *     rill_workers_run(workers, reader, &input, writer, &output);
 *     rill_workers_finish(workers);                              // repeat with other setups
 *     rill_workers_close(workers);
 *
 * Each worker has a context, a runner of the model (domain.h), a scheduler, heuristics and scorers. A domain without runners is opened
 * once per worker.
 *
 * Settings: n, max_items, budget, flush_every and refill apply to each worker. The memory limit (max_nodes or memory) is divided among the
 * workers. An input that needs more than its share is decoded alone under the whole limit while other workers pause.
 * Ids are positions in the common stream. In traces each worker counts its own timesteps.
 *
 * Devices: the option `device` may list several, "cuda:0,cuda:1". Workers are assigned round-robin, and each device has one model. A
 * device listed twice has two workers. The memory limit applies to each device.
 *
 * Threads: reader and writer run on the caller's thread, the trace function on workers' threads one at a time, a budget function on its
 * worker's. Only rill_processors() and rill_workers_stop() may be called from other threads.
 * Stability: structs are only appended to. */
#ifndef RILL_WORKERS_H
#define RILL_WORKERS_H

#include "rill/registry.h"
#include "rill/run.h"

RILL_C_BEGIN

typedef struct rill_workers rill_workers;

typedef struct rill_workers_options {
    size_t struct_size;
    /* number of workers, 1 to 1024; 0: one per listed device */
    int32_t workers;
    /* workers share the tables (domains, scorers ...) registered before this mark; NULL: all. For scripts, whose tables belong to one
     * thread: take the mark first, and load the scripts in `prepare` */
    const rill_registry_mark *shared;
    /* (optional) registers further tables in a worker's context before the model is opened. Not called for a single worker without
     * `apart`. A negative return fails rill_workers_open() */
    rill_status (*prepare)(void *user, int32_t index, rill_context *worker);
    void *user;
    /* 1: even a single worker has its own thread, so reading, finalizing and writing overlap with decoding */
    int apart;
} rill_workers_options;

/* Create the workers and open the model: once per device if the domain has runners, else once per worker.
 *   *out: closed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_ARGUMENT (number of workers) · RILL_ERR_OPTION (devices) · RILL_ERR_ABI (the options' size) · RILL_ERR_MEMORY ·
 *   a failure of rill_model_open() or `prepare` */
RILL_API rill_status rill_workers_open(rill_workers **out, rill_context *ctx, const char *domain,
                                       const rill_open_options *open, const rill_workers_options *options);
RILL_API void rill_workers_close(rill_workers *workers); /* closing NULL does nothing */

/* Return the number of workers. */
RILL_API int32_t rill_workers_count(const rill_workers *workers);
/* Return the model; of several, the first worker's. */
RILL_API rill_model *rill_workers_model(const rill_workers *workers);
/* Device of a worker's model (rill_domain_info.device), or NULL. */
RILL_API const char *rill_workers_device(const rill_workers *workers, int32_t index);
/* Return a worker's context; a setup's heuristics, scorers and schedulers are looked up there. */
RILL_API rill_context *rill_workers_context(const rill_workers *workers, int32_t index);

/* Create the engines. setups: [count], one per worker, with equal settings, as for rill_engine_create().
 *   Returns as rill_engine_create(), errors recorded in the caller's context; RILL_ERR_ARGUMENT (engines already exist) */
RILL_API rill_status rill_workers_begin(rill_workers *workers, const rill_engine_setup *const *setups);

/* Return the resolved settings, valid until rill_workers_finish(). */
RILL_API const rill_settings *rill_workers_settings(const rill_workers *workers);

/* Decode until the end of input; contract and returns as rill_run(). If a worker fails, finished results are written and the run ends.
 * Call once per rill_workers_begin(), or get RILL_ERR_ARGUMENT. */
RILL_API rill_status rill_workers_run(rill_workers *workers, rill_read_fn read, void *read_user, rill_write_fn write,
                                      void *write_user);

/* rill_workers_run() with requests, as rill_run_requests(). Texts, settings and arguments are copied before the next read. Deadlines count
 * from the reader's return. All setups must have the same clock, if any; workers' threads call it. */
RILL_API rill_status rill_workers_run_requests(rill_workers *workers, rill_read_request_fn read, void *read_user,
                                               rill_write_fn write, void *write_user);

/* Cancel an input without a result, from the reader or the writer; its result gets the status RILL_ERR_CANCELLED. An input in flight is
 * cancelled before the next timestep, unless it finishes first.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such input, it has a result, or no run is active) · RILL_ERR_MEMORY */
RILL_API rill_status rill_workers_cancel(rill_workers *workers, int64_t id);

/* Stop the run after each worker's current timestep: it returns RILL_ERR_STOPPED, until rill_workers_begin(). Any thread;
 * async-signal-safe. */
RILL_API void rill_workers_stop(rill_workers *workers);

/* Write the counters so far: sums over workers, so seconds may exceed elapsed time, and peaks are upper bounds.
 * longest_item_timesteps is a maximum; waiting_peak and nodes_bound are common. Zero outside rill_workers_begin() and _finish(). */
RILL_API void rill_workers_stats(rill_workers *workers, rill_stats *out);

/* Return a worker's engine, for profiles (engine.h); NULL: the system started no thread for the worker.
 * Only between rill_workers_begin() and _finish(), and not during a run. */
RILL_API rill_engine *rill_workers_engine(const rill_workers *workers, int32_t index);

/* Destroy the workers' engines. */
RILL_API void rill_workers_finish(rill_workers *workers);

/* Returns the number of processors for this process: the smaller of CPU affinity and cgroup quota, at least 1. */
RILL_API int32_t rill_processors(void);

RILL_C_END

#endif
