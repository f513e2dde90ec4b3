/* rill: streaming batched beam search for models that are decoded one action (token, parser transition) at a time.
 *
 * This header includes everything a caller needs; authors of plugins include plugin.h.
 *
 *   context.h   allocator, log, errors      settings.h  search settings      engine.h  submit, step, next
 *   status.h    codes                       stats.h     counters and trace   run.h     the whole loop
 *   domain.h    what a domain implements    heuristic.h, scorer.h, scheduler.h  plugin.h  registration, shared objects
 *   carve.h     arrays in one block device.h compute graphs for neural domains
 *   file.h      reading files safetensors.h files of weights
 *   workers.h   several engines on one model option.h tables of named options
 *   search_config.h    options from several sources folder.h a model directory's configuration
 *   constraints.h  constraints on one input's output trie.h sets of allowed outputs
 *
 * Terms: an *input* is one sequence to decode; an *item* is an input in flight; an *action* extends a hypothesis. Scores are sums of
 * natural-log probabilities, higher is better, RILL_SCORE_DEAD is never chosen; equal scores are ordered by the parent's rank, then by the
 * smaller action. Letters: n items or rows, k beam width, M choices per row, N items in flight.
 * Source of the method: Yang, Yao, DeNero, Klein, "A Streaming Approach For Efficient Batched Beam Search", EMNLP 2020. */
#ifndef RILL_H
#define RILL_H

#include "rill/builtins.h"
#include "rill/carve.h"
#include "rill/constraints.h"
#include "rill/context.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "rill/engine.h"
#include "rill/evidence.h"
#include "rill/file.h"
#include "rill/folder.h"
#include "rill/heuristic.h"
#include "rill/option.h"
#include "rill/plugin.h"
#include "rill/run.h"
#include "rill/safetensors.h"
#include "rill/scheduler.h"
#include "rill/scorer.h"
#include "rill/search_config.h"
#include "rill/settings.h"
#include "rill/stats.h"
#include "rill/status.h"
#include "rill/trie.h"
#include "rill/version.h"
#include "rill/workers.h"

#endif
