/* Workers: several engines with one input queue and one output, each on its own thread.
 *
 * Workers run whole inputs in parallel, whereas one engine uses threads inside its operations. They share only the const model and never
 * wait for each other, so they scale with cores. An input's outputs are bit-identical whichever worker decodes it. Results come in input
 * order, or by completion with `unordered`. One worker is rill_run(): no thread is created.
 *
 *     rill_workers *workers;
 *     rill_workers_open(&workers, ctx, "mt", &open_options, &(rill_workers_options){sizeof(rill_workers_options), 2});
 *     rill_workers_begin(workers, setups);                       // setups[w]: of worker w; all may be the same
 *     rill_workers_run(workers, reader, &input, writer, &output);
 *     rill_workers_finish(workers);                              // repeat with other setups
 *     rill_workers_close(workers);
 *
 * Each worker has a context with its own errors, memory accounting and the caller's registered tables, a runner of the model (domain.h),
 * and instances of scheduler, heuristics and scorers. A domain without runners is opened once per worker.
 *
 * The settings n, max_items, budget, flush_every and refill apply to each worker. The window within which inputs are sorted is common. The
 * limit on states (max_nodes) or memory is divided among workers. An input that exceeds a worker's share is decoded by one worker with the
 * whole limit while all others pause, so the same inputs fail as with one worker. Ids are positions in the common stream, for scorers and
 * traces too. In a trace each worker counts its own timesteps, and the event names the worker.
 *
 * The option `device` may list several devices of one kind, "cuda:0,cuda:1". Workers are assigned to them round-robin. The model is opened
 * once on each device in use. A device listed twice has two workers and one model. The limit on states or memory then applies to each
 * device and is divided among its workers.
 *
 * Requests (engine.h) are read by rill_workers_run_requests(); rill_workers_cancel() cancels an input.
 *
 * Threads: reader and writer are called on the caller's thread, the trace function on the workers' threads, one at a time, and a budget
 * function on its worker's. All functions of this header except rill_processors() and rill_workers_stop() belong to the caller's thread.
 * Stability: structs are only appended to. */
#ifndef RILL_WORKERS_H
#define RILL_WORKERS_H

#include "rill/registry.h"
#include "rill/run.h"

RILL_C_BEGIN

typedef struct rill_workers rill_workers;

typedef struct rill_workers_options {
    size_t struct_size;
    /* number of workers, 1 to 1024; 0: one for each listed device. With fewer workers than devices, the first devices are used */
    int32_t workers;
    /* The workers share the tables (domains, scorers ...) registered before this mark; NULL: all tables. A script's tables belong to one
     * thread, so take the mark before scripts are loaded, and load them again in `prepare`. */
    const rill_registry_mark *shared;
    /* (optional) Register more tables in a worker's context before the model is opened or shared. Called by rill_workers_open() for each
     * worker with its own context; a single worker without `apart` has the caller's context and skips it. A negative return fails
     * rill_workers_open() with the error recorded in `worker`. */
    rill_status (*prepare)(void *user, int32_t index, rill_context *worker);
    void *user;
    /* 1: even a single worker has its own thread and context. Reading, finalizing and writing then overlap with decoding */
    int apart;
} rill_workers_options;

/* Create the workers' contexts and open the model: once per device if the domain has runners, else once per worker.
 *   out: on success workers that the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_ARGUMENT (the number of workers) · RILL_ERR_OPTION (the list of devices) · RILL_ERR_ABI (the options' size)
 *   RILL_ERR_MEMORY · a failure of rill_model_open() or of `prepare` */
RILL_API rill_status rill_workers_open(rill_workers **out, rill_context *ctx, const char *domain,
                                       const rill_open_options *open, const rill_workers_options *options);
RILL_API void rill_workers_close(rill_workers *workers); /* NULL is allowed */

/* Return the number of workers. */
RILL_API int32_t rill_workers_count(const rill_workers *workers);
/* Return the model; if it was opened several times, the first worker's model. */
RILL_API rill_model *rill_workers_model(const rill_workers *workers);
/* The compute device of a worker's model: rill_domain_info.device, which may be NULL. */
RILL_API const char *rill_workers_device(const rill_workers *workers, int32_t index);
/* Return a worker's context, in which the names of heuristics, scorers and schedulers in the worker's setup are looked up. */
RILL_API rill_context *rill_workers_context(const rill_workers *workers, int32_t index);

/* Make the engines. setups: [count] one for each worker, with equal settings, each as for rill_engine_create().
 *   a status of rill_engine_create(), recorded in the caller's context · RILL_ERR_ARGUMENT (engines already exist) */
RILL_API rill_status rill_workers_begin(rill_workers *workers, const rill_engine_setup *const *setups);

/* The resolved settings; valid between rill_workers_begin() and rill_workers_finish(). */
RILL_API const rill_settings *rill_workers_settings(const rill_workers *workers);

/* Decode until the end of input, as rill_run() does: same contract, same returns. If a worker fails, results finished by then are written
 * and the run ends. Call it once after each rill_workers_begin(); a second call returns RILL_ERR_ARGUMENT. */
RILL_API rill_status rill_workers_run(rill_workers *workers, rill_read_fn read, void *read_user, rill_write_fn write,
                                      void *write_user);

/* rill_workers_run() with a reader of requests, as rill_run_requests(). Each worker makes its own instances of a request's heuristics and
 * scorers, on its thread. Texts, settings and arguments are copied before the reader is called again; `user` is passed through. Deadlines
 * count from the reader's return. All setups have the same clock function, if any; any worker's thread may call it. */
RILL_API rill_status rill_workers_run_requests(rill_workers *workers, rill_read_request_fn read, void *read_user,
                                               rill_write_fn write, void *write_user);

/* Cancel an input whose result has not been written, from the reader or the writer. Its result has the status RILL_ERR_CANCELLED and is
 * delivered in its turn. A queued input is cancelled at once. A worker cancels its input before its next timestep, unless the current one
 * finishes the input normally.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such input, or it has a result; no run is active) · RILL_ERR_MEMORY */
RILL_API rill_status rill_workers_cancel(rill_workers *workers, int64_t id);

/* Make the run return RILL_ERR_STOPPED after each worker's current timestep. The stop stays in force until rill_workers_begin(). Any
 * thread; async-signal-safe; the workers must not be closed meanwhile. */
RILL_API void rill_workers_stop(rill_workers *workers);

/* Counters so far; also callable from reader and writer. All are zero before rill_workers_begin() and after rill_workers_finish(). Counters
 * and seconds are sums over workers, so seconds may exceed the elapsed time. longest_item_timesteps is the maximum over workers;
 * waiting_peak belongs to the common output; nodes_bound is the common limit. Other peaks are sums, which are upper bounds of the true
 * peaks. */
RILL_API void rill_workers_stats(rill_workers *workers, rill_stats *out);

/* Returns a worker's engine, for profiles (engine.h); NULL: the worker does not run, since the system starts no more threads. Call it
 * between rill_workers_begin() and rill_workers_finish(), but not during a run. */
RILL_API rill_engine *rill_workers_engine(const rill_workers *workers, int32_t index);

/* Destroy the workers' engines. */
RILL_API void rill_workers_finish(rill_workers *workers);

/* Returns the number of processors available to this process: the smaller of CPU affinity and cgroup quota, at least 1. */
RILL_API int32_t rill_processors(void);

RILL_C_END

#endif
