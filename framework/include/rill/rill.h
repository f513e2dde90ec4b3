/* rill: streaming batched beam search. Include this header to decode; plugins include plugin.h.
 *
 *   context.h   allocator, log, errors      registry.h       domains and plugins by name
 *   status.h    codes                       model.h          opening a model, its actions and texts
 *   settings.h  search settings             folder.h         opening a model's folder as the command does
 *   engine.h    submit, step, next          search_config.h  options from several sources
 *   run.h       the whole loop              option.h         tables of named options
 *   workers.h   several engines, one model  stats.h          counters and traces
 *   profile.h   cost of a model's operations  constraints.h  constraints on one input's output, sets of allowed outputs
 *   version.h   versions                    evidence.h       n-gram posteriors for lattice MBR
 *
 * Terms
 *   input    one sequence to decode
 *   item     an input in flight
 *   action   a token or parser transition: extends a hypothesis by one
 *   score    a sum of natural-log probabilities, higher is better. Ties go to the better parent's child, then to the smaller action
 * Symbols: n items or rows, k beam size, M choices per row, N maximum number of items in flight.
 * Source: Yang, Yao, DeNero, Klein, "A Streaming Approach For Efficient Batched Beam Search", EMNLP 2020. */
#ifndef RILL_H
#define RILL_H

#include "rill/constraints.h"
#include "rill/context.h"
#include "rill/engine.h"
#include "rill/evidence.h"
#include "rill/folder.h"
#include "rill/model.h"
#include "rill/option.h"
#include "rill/profile.h"
#include "rill/registry.h"
#include "rill/run.h"
#include "rill/search_config.h"
#include "rill/settings.h"
#include "rill/stats.h"
#include "rill/status.h"
#include "rill/version.h"
#include "rill/workers.h"

#endif
