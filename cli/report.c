/* The summary line and the JSON of --stats. Every number of rill_stats is here under the name it has there. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE(name)                         \
    {                                       \
#name, offsetof(rill_seconds, name) \
    }
const cli_stage cli_stages[CLI_STAGES] = {STAGE(encode), STAGE(step),  STAGE(score),  STAGE(scorers), STAGE(choose),
                                          STAGE(select), STAGE(prune), STAGE(commit), STAGE(finalize)};

double cli_engine_share(const rill_stats *stats)
{
    const rill_seconds *s = &stats->seconds;
    double own = s->total - s->encode - s->step - s->score;
    return s->total > 0 && own > 0 ? own / s->total : 0;
}

double cli_per_timestep(const rill_stats *stats)
{
    return stats->timesteps > 0 ? (double)stats->expansions / (double)stats->timesteps : 0;
}

static double per_second(const cli_report *report)
{
    return report->wall > 0 ? (double)report->stats.inputs / report->wall : 0;
}

/* What happened to inputs, in brackets: nothing where all went well. */
static void put_troubles(int64_t failed, int64_t cut, char *out, size_t size)
{
    out[0] = '\0';
    if (failed && cut)
        snprintf(out, size, " (%" PRId64 " failed, %" PRId64 " with outputs cut short)", failed, cut);
    else if (failed || cut)
        snprintf(out, size, failed ? " (%" PRId64 " failed)" : " (%" PRId64 " with outputs cut short)", failed + cut);
}

static void say_engine(const rill_stats *t)
{
    const rill_seconds *s = &t->seconds;
    char bound[96] = "";
    if (t->nodes_bound)
        snprintf(bound, sizeof bound, " of %" PRId64 " allowed, %" PRId64 " items sent back", t->nodes_bound,
                 t->sent_back);
    cli_say(
        "%" PRId64 " timesteps, %" PRId64 " expansions, %.1f exp/step, %" PRId64 " refill%s, states peak %" PRId64 "%s",
        t->timesteps, t->expansions, cli_per_timestep(t), t->refills, t->refills == 1 ? "" : "s", t->nodes_peak, bound);
    cli_say("seconds: encode %.3f, step %.3f, score %.3f, prune %.3f, finalize %.3f", s->encode, s->step, s->score,
            s->prune, s->finalize);
}

void cli_report_say(const cli_report *report, int verbose)
{
    const rill_stats *t = &report->stats;
    char troubles[96];
    put_troubles(t->failed, report->given ? report->given->cut : 0, troubles, sizeof troubles);
    cli_say("%" PRId64 " input%s in %.2f s, %.1f/s%s", t->inputs, t->inputs == 1 ? "" : "s", report->wall,
            per_second(report), troubles);
    if (verbose) say_engine(t);
}

/* Which setting keeps lists short, so that nobody turns one that cannot help. */
static const char *why_fewer(const rill_settings *s)
{
    if (s->k < s->n_best) return "the search keeps fewer hypotheses (k)";
    if (s->stop_after > 0 && s->stop_after < s->n_best) return "the search stops after fewer (--stop-after)";
    if (s->distinct) return "the search found no more that differ (a larger -k finds more)";
    return "the search found no more (--min-width and -k widen it)";
}

void cli_report_warn(const cli_report *report, int summary)
{
    const cli_given *given = report->given;
    if (given->cut && !summary)
        cli_say("warning: %" PRId64 " of %" PRId64 " inputs have outputs that were cut short", given->cut,
                report->stats.inputs);
    if (given->fewer)
        cli_say("warning: %" PRId64 " of %" PRId64 " inputs have fewer than %" PRId32 " outputs: %s", given->fewer,
                report->stats.inputs, report->settings->n_best, why_fewer(report->settings));
}

void cli_given_add(cli_given *given, const rill_result *result, int32_t n_best)
{
    int cut = 0;
    for (int32_t i = 0; i < result->n && !cut; i++) cut = result->output[i].truncated;
    given->cut += cut;
    /* What has nothing in it has one output, of no action. */
    const int empty = result->n == 1 && result->output[0].n_actions == 0;
    given->fewer += result->status >= 0 && result->n < n_best && !empty;
}

/* JSON has no infinities, and jansson refuses them. */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(int64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *pool(int64_t in_use, int64_t peak, int64_t capacity)
{
    json_t *object = json_object();
    json_object_set_new(object, "in_use", whole(in_use));
    json_object_set_new(object, "peak", whole(peak));
    json_object_set_new(object, "capacity", whole(capacity));
    return object;
}

static json_t *seconds_json(const cli_report *report)
{
    const rill_seconds *s = &report->stats.seconds;
    json_t *object = json_object();
    json_object_set_new(object, "read", real(report->read));
    for (const cli_stage *t = cli_stages; t < cli_stages + CLI_STAGES; t++)
        json_object_set_new(object, t->name, real(*cli_stage_of(s, t)));
    json_object_set_new(object, "write", real(report->write));
    json_object_set_new(object, "total", real(s->total));
    json_object_set_new(object, "wall", real(report->wall));
    return object;
}

static json_t *chain_json(const cli_chain *chain)
{
    json_t *list = json_array();
    for (int i = 0; i < chain->n; i++) {
        const cli_link *link = &chain->link[i];
        json_array_append_new(list, link->arguments[0] ? json_sprintf("%s:%s", link->name, link->arguments)
                                                       : json_string(link->name));
    }
    return list;
}

/* The word of a setting's value, which counts the words of its argument from 1. */
static json_t *word(const char *name, int32_t value)
{
    const rill_setting_info *info = rill_setting_table();
    while (strcmp(info->name, name)) info++;
    const char *words = info->argument;
    for (int32_t i = 1; i < value && *words; i++) words += strcspn(words, "|") + 1;
    return value > 0 ? json_stringn(words, strcspn(words, "|")) : json_null();
}

static const char *sort_name(rill_sort sort)
{
    return sort == RILL_SORT_LENGTH ? "length" : sort == RILL_SORT_LONGEST_FIRST ? "longest-first" : "none";
}

json_t *cli_settings_json(const rill_settings *s, const cli_plan *plan)
{
    json_t *object = json_object();
    json_object_set_new(object, "method", json_string(s->method));
    json_object_set_new(object, "k", whole(s->k));
    json_object_set_new(object, "n", whole(s->n));
    json_object_set_new(object, "max_items", whole(s->max_items));
    json_object_set_new(object, "budget", plan->setup.budget ? json_string("function") : whole(s->budget));
    json_object_set_new(object, "refill", real(s->refill));
    json_object_set_new(object, "max_candidates", whole(s->max_candidates));
    json_object_set_new(object, "finish", word("finish", s->finish));
    json_object_set_new(object, "stop_after", whole(s->stop_after));
    json_object_set_new(object, "min_length", whole(s->min_length));
    json_object_set_new(object, "max_length", whole(s->max_length));
    json_object_set_new(object, "length_penalty", real(s->length_penalty));
    json_object_set_new(object, "n_best", whole(s->n_best));
    json_object_set_new(object, "distinct", json_boolean(s->distinct));
    json_object_set_new(object, "sort", json_string(sort_name(s->sort)));
    json_object_set_new(object, "sort_window", whole(s->sort_window));
    json_object_set_new(object, "flush_every", whole(s->flush_every));
    json_object_set_new(object, "max_nodes", whole(s->max_nodes));
    json_object_set_new(object, "memory", whole(s->memory));
    json_object_set_new(object, "like", word("like", s->like));
    json_object_set_new(object, "keep", word("keep", s->keep));
    json_object_set_new(object, "stop", word("stop", s->stop));
    json_object_set_new(object, "at_limit", word("at-limit", s->at_limit));
    json_object_set_new(object, "count_end", json_boolean(s->count_end));
    json_object_set_new(object, "max_length_factor", real(s->max_length_factor));
    json_object_set_new(object, "word_penalty", real(s->word_penalty));
    json_object_set_new(object, "unknown_penalty",
                        isinf(s->unknown_penalty) ? json_string("inf") : real(s->unknown_penalty));
    json_object_set_new(object, "min_width", whole(s->min_width));
    json_object_set_new(object, "require_end", json_boolean(s->require_end));
    json_object_set_new(object, "unordered", json_boolean(s->unordered));
    json_object_set_new(object, "check", json_boolean(s->check));
    json_object_set_new(object, "heuristics", chain_json(&plan->heuristics));
    json_object_set_new(object, "scorers", chain_json(&plan->scorers));
    if (plan->policy.n) json_object_set_new(object, "policy", json_string(plan->policy.link[0].name));
    return object;
}

static void set_counters(json_t *object, const rill_stats *t)
{
    json_object_set_new(object, "inputs", whole(t->inputs));
    json_object_set_new(object, "failed", whole(t->failed));
    json_object_set_new(object, "timesteps", whole(t->timesteps));
    json_object_set_new(object, "expansions", whole(t->expansions));
    json_object_set_new(object, "exp_per_step", real(cli_per_timestep(t)));
    json_object_set_new(object, "refills", whole(t->refills));
    json_object_set_new(object, "longest_item_timesteps", whole(t->longest_item_timesteps));
    json_object_set_new(object, "depth_bound", whole(t->depth_bound));
    json_object_set_new(object, "passed_over_first", whole(t->passed_over_first));
    json_object_set_new(object, "candidates", whole(t->candidates));
    json_object_set_new(object, "pruned", whole(t->pruned));
    json_object_set_new(object, "outputs", whole(t->outputs));
    json_object_set_new(object, "truncated", whole(t->truncated));
    json_object_set_new(object, "nodes", pool(t->nodes_in_use, t->nodes_peak, t->nodes_capacity));
    json_object_set_new(object, "nodes_bound", whole(t->nodes_bound));
    json_object_set_new(object, "sent_back", whole(t->sent_back));
    json_object_set_new(object, "histories", pool(t->histories_in_use, t->histories_peak, t->histories_capacity));
    json_object_set_new(object, "items_peak", whole(t->items_peak));
    json_object_set_new(object, "waiting_peak", whole(t->waiting_peak));
}

json_t *cli_report_json(const cli_report *report)
{
    const cli_session *session = report->session;
    json_t *object = json_object();
    set_counters(object, &report->stats);
    json_object_set_new(object, "memory_peak", whole((int64_t)rill_memory_peak(session->ctx)));
    json_object_set_new(object, "seconds", seconds_json(report));
    json_object_set_new(object, "engine_share", real(cli_engine_share(&report->stats)));
    json_object_set_new(object, "inputs_per_second", real(per_second(report)));
    json_object_set_new(object, "settings", cli_settings_json(report->settings, report->plan));
    json_object_set_new(object, "domain", json_string(rill_model_domain(session->model)->name));
    json_object_set_new(object, "model", session->open.path ? json_string(session->open.path) : json_null());
    for (int i = 0; i < session->open.n_also; i++) {
        if (i == 0) json_object_set_new(object, "also", json_array());
        json_array_append_new(json_object_get(object, "also"), json_string(session->also[i]));
    }
    json_object_set_new(object, "threads", whole(session->open.threads));
    json_object_set_new(object, "workers", whole(session->workers));
    if (report->given) json_object_set_new(object, "inputs_cut", whole(report->given->cut));
    if (report->given) json_object_set_new(object, "inputs_with_fewer", whole(report->given->fewer));
    if (report->profile) json_object_set_new(object, "profile", cli_profile_json(report->profile));
    json_object_set_new(object, "version", json_string(RILL_VERSION_STRING));
    return object;
}

int cli_json_write(cli_output *output, json_t *value)
{
    char *text = value ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(value);
    if (!text) return cli_fail_memory("a JSON report");
    cli_output_write(output, text, strlen(text));
    cli_output_write(output, "\n", 1);
    free(text);
    return CLI_OK; /* a failed write is told when the output is closed */
}
