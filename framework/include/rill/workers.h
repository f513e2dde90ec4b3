/* Workers: several engines behind one input and one output, each on a thread of its own.
 *
 * What one engine does with threads inside its operations, workers do with whole inputs: they share nothing but a const model, so
 * they scale with cores and wait for nobody. An input's outputs are the same to the last bit whoever decodes it, and results
 * come in input order (or by completion with `unordered`), so the number of workers changes no answer. One worker is rill_run():
 * no thread is made.
 *
 *     rill_workers *workers;
 *     rill_workers_open(&workers, ctx, "mt", &open_options, &(rill_workers_options){sizeof(rill_workers_options), 2});
 *     rill_workers_begin(workers, setups);                       // setups[w]: of worker w; all may be the same
 *     rill_workers_run(workers, reader, &input, writer, &output);
 *     rill_workers_finish(workers);                              // and so on with other setups
 *     rill_workers_close(workers);
 *
 * Each worker has a context (errors and accounts of its own, the registered tables of the first), a runner of the model (domain.h),
 * and instances of policy, heuristics and scorers. A domain without runners is opened once per worker.
 *
 * n, max_items, budget, flush_every and the refill are each worker's own; a window of sorted inputs is common to all. The bound on
 * states or memory is divided: an input that does not fit into a worker's share is decoded while all others rest, by one that
 * has the whole bound, so that the same inputs fail as with one worker. Ids are those of the common stream, for scorers and
 * traces too; a trace's timesteps are counted by each worker, which the event names.
 *
 * The option `device` may list several devices of one kind, "cuda:0,cuda:1"; blanks around them are nothing. Workers are dealt out to
 * them in turn, so that fewer workers use the first ones. The model is opened once on each that is used. A device listed twice has two
 * workers and one model. The bound on states or memory is then each device's, divided among its workers.
 *
 * Requests (engine.h) come by rill_workers_run_requests(), and rill_workers_cancel() gives an input up.
 *
 * Threads: reader and writer are called on the caller's thread. The trace function is called on the workers' threads, one at a
 * time; a budget function on its worker's. These functions belong to the caller's thread: all of this header but
 * rill_processors(). Stability: structs are only appended to. */
#ifndef RILL_WORKERS_H
#define RILL_WORKERS_H

#include "rill/plugin.h"
#include "rill/run.h"

RILL_C_BEGIN

typedef struct rill_workers rill_workers;

typedef struct rill_workers_options {
    size_t struct_size;
    int32_t workers; /* 1 to 1024; 0: one for each device that is listed. Fewer than these use the first */
    /* What of the context's tables the workers find too; NULL: all. Scripts belong to a thread: mark the registry before they
     * are loaded, and have `prepare` load them once more. */
    const rill_registry_mark *shared;
    /* (optional) Register more in a worker's context, before the model is opened or shared: loads scripts. Called here, for each
     * worker in turn that has a context of its own; not for one alone without `apart`, which works with the caller's. A
     * negative return ends the opening with what is recorded in `worker`. */
    rill_status (*prepare)(void *user, int32_t index, rill_context *worker);
    void *user;
    int apart; /* 1: one worker has a thread and a context of its own too, as several have: reading, texts and writing go on while it
                  decodes, which is for models that a device runs */
} rill_workers_options;

/* Make contexts, and open the model: once per device if the domain starts runners, else once per worker.
 *   out: on success workers that the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_ARGUMENT (the number of workers) · RILL_ERR_OPTION (the list of devices) · RILL_ERR_ABI (the options' size)
 *   RILL_ERR_MEMORY · what rill_model_open() and prepare return */
RILL_API rill_status rill_workers_open(rill_workers **out, rill_context *ctx, const char *domain,
                                       const rill_open_options *open, const rill_workers_options *options);
RILL_API void rill_workers_close(rill_workers *workers); /* NULL is allowed */

/* How many there are. */
RILL_API int32_t rill_workers_count(const rill_workers *workers);
/* The model; of several the first worker's. */
RILL_API rill_model *rill_workers_model(const rill_workers *workers);
/* What computes a worker's model: rill_domain_info.device, which may be NULL. */
RILL_API const char *rill_workers_device(const rill_workers *workers, int32_t index);
/* A worker's context: what its setup's names are looked up in. */
RILL_API rill_context *rill_workers_context(const rill_workers *workers, int32_t index);

/* Make the engines. setups: [count] one for each worker, the same settings in all, each as for rill_engine_create().
 *   what rill_engine_create() returns, recorded in the caller's
 *   context · RILL_ERR_ARGUMENT (there are engines already) */
RILL_API rill_status rill_workers_begin(rill_workers *workers, const rill_engine_setup *const *setups);

/* The settings as resolved; between begin and finish. */
RILL_API const rill_settings *rill_workers_settings(const rill_workers *workers);

/* Decode until the reader ends, as rill_run() does: same contract, same returns. A failure of any worker ends the run: what is
 * finished by then is written first. Once per begin, and not before: RILL_ERR_ARGUMENT. */
RILL_API rill_status rill_workers_run(rill_workers *workers, rill_read_fn read, void *read_user, rill_write_fn write,
                                      void *write_user);

/* The same with a reader of requests, which each have the same meaning as with one engine: rill_run_requests(). A worker makes the
 * instances that a request wants, on its thread; instances are not shared by workers. The texts, settings and arguments are copied
 * before the reader is called again; `user` is handed through. Deadlines count from when the reader returned, wherever the input is
 * when they come; setups with a clock have the same one, which any of the threads may then call. */
RILL_API rill_status rill_workers_run_requests(rill_workers *workers, rill_read_request_fn read, void *read_user,
                                               rill_write_fn write, void *write_user);

/* Give an input up whose result has not been written: from the reader or the writer, on the caller's thread. Its result says
 * RILL_ERR_CANCELLED, and takes its turn like any other. One that no worker has taken is given up at once. Of one that a worker
 * holds, the worker does it before its next timestep, unless it finishes the input in this one: then the result is as if it had
 * not been asked.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such input, or it has a result; no run is on) · RILL_ERR_MEMORY */
RILL_API rill_status rill_workers_cancel(rill_workers *workers, int64_t id);

/* Have the run end with RILL_ERR_STOPPED when each worker has finished the timestep that it is in: rill_engine_stop() for all. Until
 * rill_workers_begin(). From any thread, and from a signal handler; the caller sees to it that the workers are not closed meanwhile. */
RILL_API void rill_workers_stop(rill_workers *workers);

/* Counters so far; from reader and writer too. Zero but between begin and finish. Those of all workers added up, seconds as well, which are
 * then more than the clock's. Of longest_item_timesteps the largest; waiting_peak is the common output's; nodes_bound the common
 * bound. Other peaks are sums of each worker's own: at least what was held at any one time. */
RILL_API void rill_workers_stats(rill_workers *workers, rill_stats *out);

/* A worker's engine, between begin and finish and not while they run: to ask for profiles (engine.h) and take them. */
RILL_API rill_engine *rill_workers_engine(const rill_workers *workers, int32_t index);

/* Destroy the engines. */
RILL_API void rill_workers_finish(rill_workers *workers);

/* Processors that this process may use: those that its affinity (taskset) allows, fewer where a quota of its control group (version 1
 * or 2) comes to fewer; at least 1. */
RILL_API int32_t rill_processors(void);

RILL_C_END

#endif
