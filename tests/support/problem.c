/* See problem.h. engine_run.c runs the engine.
 * Sections: the space · drawing · solving · comparing · describing and failing. */
#include "support/problem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"

/* --- the space for the naive search ------------------------------------------------------------------------------- */

typedef struct space {
    const toy_model *model;
    toy_input input;
} space;

static int32_t expand(void *user, const int32_t *history, int32_t n, naive_choice *out)
{
    const space *s = user;
    toy_choice all[TOY_MAX_ACTIONS];
    uint64_t state = s->input.start;
    for (int32_t i = 0; i < n; i++) state = toy_extend(state, history[i]);
    int32_t phases = s->model->phases, count = toy_expand(s->model, &s->input, state, n / phases, n % phases, all);
    for (int32_t i = 0; i < count; i++)
        out[i] = (naive_choice){all[i].action, all[i].logp, (naive_kind)all[i].terminal};
    return count;
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

const char *const *problem_methods(problem_group group)
{
    static const char *const pruned[] = {"var-stream", "var-batch", "var-stream-fifo", "top-up", "stream-all", NULL};
    static const char *const fixed_top[] = {"fixed-stream", "fixed", NULL};
    static const char *const fixed[] = {"fixed", NULL};
    static const char *const greedy[] = {"greedy", NULL};
    const char *const *const groups[] = {pruned, fixed_top, fixed, greedy};
    return groups[group];
}

/* One statement per draw: C leaves the order in which arguments are evaluated open, and a seed must mean the same
 * problem with every compiler. */
static void draw_toy(problem *p, dice *d)
{
    int phases = DICE_PICK(d, 1, 1, 1, 2, 2, 3), few = phases > 1 ? 4 : 2;
    int seed = dice_range(d, 0, 1000000);
    int actions = dice_range(d, few, 8);
    if (dice_chance(d, 5)) actions = 40;
    int depth = dice_range(d, 1, 7);
    if (dice_chance(d, 3)) depth = 40;
    const char *need = dice_chance(d, 50) ? "path" : "parent";
    int ties = DICE_PICK(d, 0, 0, 1, 2, 3, 6);
    const char *terminal = dice_chance(d, 40) ? "last" : "end";
    int early = DICE_PICK(d, 0, 10, 30, 60, 85), ending = DICE_PICK(d, 20, 40, 70),
        legal = DICE_PICK(d, 30, 60, 90, 100);
    int dead_ends = DICE_PICK(d, 0, 0, 0, 10, 30), flat = dice_range(d, 1, 8),
        mask = dice_range(d, 0, (1 << phases) - 1);
    int bound = dice_range(d, 1, 8);
    if (!dice_chance(d, 30)) bound = 0;
    int own_bound = dice_chance(d, 30), dead = dice_chance(d, 20);
    static const char *const selects[] = {"both", "rill", "own"};
    const char *select = selects[DICE_PICK(d, 0, 0, 1, 2)];
    int spare = DICE_PICK(d, 0, 0, 300, 999), listed = dice_chance(d, 50);
    snprintf(p->arguments, sizeof p->arguments,
             "seed=%d actions=%d depth=%d phases=%d state=%s ties=%d terminal=%s early=%d ending=%d legal=%d "
             "dead_ends=%d flat=%.2f mask=%d bound=%d own_bound=%d dead=%d select=%s spare=%d listed=%d",
             seed, actions, depth, phases, need, ties, terminal, early, ending, legal, dead_ends, 0.25 * flat, mask,
             bound, own_bound, dead, select, spare, listed);
    char message[128];
    if (toy_model_parse(&p->model, p->arguments, message, sizeof message) < 0) abort();
}

static void draw_inputs(problem *p, dice *d)
{
    p->n_inputs = dice_chance(d, 20) ? dice_range(d, 13, PROBLEM_MAX_INPUTS) : dice_range(d, 1, 12);
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const char *mark = dice_chance(d, 4) ? "!bad " : dice_chance(d, 3) ? "!dead " : "";
        int32_t words = dice_range(d, 0, 4);
        snprintf(p->input[i], sizeof p->input[i], "%s%d%.*s", mark, (int)dice_range(d, 0, 99999), (int)(2 * words),
                 " a b c d");
    }
    /* The output for a blank line is empty, whatever the domain. */
    if (dice_chance(d, 5)) strcpy(p->input[0], p->n_inputs % 2 ? "" : " \t\xe3\x80\x80");
}

static void draw_settings(problem *p, problem_group group, dice *d)
{
    rill_settings *s = &p->settings;
    rill_settings_default(s);
    int pruned = group == PROBLEM_PRUNED;
    s->k = group == PROBLEM_GREEDY ? 1 : dice_chance(d, 15) ? dice_range(d, 9, 20) : dice_range(d, 1, 6);
    if (group == PROBLEM_FIXED) s->finish = RILL_FINISH_IMMEDIATE;
    if (pruned && dice_chance(d, 50)) s->max_candidates = dice_range(d, 1, s->k + 2);
    if (dice_chance(d, 30))
        s->stop_after = dice_range(d, 1, s->k + 2);
    else if (dice_chance(d, 15))
        s->patience = 0.25 * (double)dice_range(d, 1, 8);
    s->min_length = DICE_PICK(d, 0, 0, 0, 1, 2, 3);
    if (dice_chance(d, 40)) s->max_length = dice_range(d, s->min_length > 0 ? s->min_length : 1, 8);
    s->length_penalty = 0.1 * (double)DICE_PICK(d, 0, 0, 10, 5, 6, 10);
    s->n_best = dice_chance(d, 60) ? 200 : dice_range(d, 1, 4); /* 200: more than there are outputs */
}

static void draw_heuristic(problem *p, dice *d)
{
    int32_t i = p->n_heuristics++;
    problem_name *h = &p->heuristic[i];
    naive_heuristic *naive = &p->naive.heuristic[i];
    naive->rule = (naive_rule)dice_range(d, 0, 3);
    if (naive->rule == NAIVE_CUSTOM) {
        test_random *r = &p->random_heuristic[i];
        r->seed = (uint64_t)dice_range(d, 0, 9999);
        r->percent = DICE_PICK(d, 0, 5, 20, 40);
        naive->user = r;
        naive->apply = test_random_apply;
        snprintf(h->name, sizeof h->name, "test-random");
        snprintf(h->arguments, sizeof h->arguments, "%d,%d", (int)r->seed, (int)r->percent);
        return;
    }
    static const char *const names[] = {"absolute", "relative", "relative_local"};
    naive->value = naive->rule == NAIVE_ABSOLUTE ? 0.25 * (double)dice_range(d, 0, 12)
                                                 : (double)dice_range(d, 1, 100) / 100;
    snprintf(h->name, sizeof h->name, "%s", names[naive->rule]);
    snprintf(h->arguments, sizeof h->arguments, "%.17g", naive->value);
}

/* The scorer word_reward:W for the naive search: each action gets the reward W. */
static void naive_word_reward(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                              const naive_hypothesis *parent, naive_modifiers *modifiers)
{
    (void)item, (void)timestep, (void)phase, (void)rank, (void)parent;
    modifiers->reward = 0.1f * (float)((test_random *)user)->percent;
}

static void draw_scorer(problem *p, dice *d)
{
    int32_t i = p->n_scorers++;
    test_random *r = &p->random_scorer[i];
    if (dice_chance(d, 20)) {
        r->percent = dice_range(d, -20, 20);
        p->naive.scorer[i] = (naive_scorer){r, naive_word_reward};
        snprintf(p->scorer[i].name, sizeof p->scorer[i].name, "word_reward");
        snprintf(p->scorer[i].arguments, sizeof p->scorer[i].arguments, "%.9g", (double)(0.1f * (float)r->percent));
        return;
    }
    *r = (test_random){.seed = (uint64_t)dice_range(d, 0, 9999), .actions = p->model.actions};
    for (int flag = 1; flag <= TEST_LAST_FLAG; flag <<= 1)
        if (dice_chance(d, 35)) r->flags |= flag;
    p->naive.scorer[i] = (naive_scorer){r, test_random_score};
    snprintf(p->scorer[i].name, sizeof p->scorer[i].name, "test-random");
    snprintf(p->scorer[i].arguments, sizeof p->scorer[i].arguments, "%d,%d", (int)r->seed, (int)r->flags);
}

void problem_draw(problem *p, problem_group group, dice *d)
{
    memset(p, 0, sizeof *p);
    draw_toy(p, d);
    draw_inputs(p, d);
    draw_settings(p, group, d);
    int32_t heuristics = group == PROBLEM_PRUNED ? DICE_PICK(d, 0, 0, 1, 1, 1, 2, 3) : 0;
    while (p->n_heuristics < heuristics) draw_heuristic(p, d);
    int32_t scorers = DICE_PICK(d, 0, 0, 0, 1, 1, 2);
    while (p->n_scorers < scorers) draw_scorer(p, d);

    const rill_settings *s = &p->settings;
    naive_problem *n = &p->naive;
    n->expand = expand;
    n->k = s->k;
    n->immediate = s->finish == RILL_FINISH_IMMEDIATE;
    n->max_candidates = s->max_candidates;
    n->max_candidates_phases = (uint32_t)p->model.max_choices_phases;
    n->stop_after = s->stop_after;
    if (s->patience > 0) n->stop_after = (int32_t)fmax(1, round((double)s->k * s->patience));
    n->length_penalty = s->length_penalty;
    n->n_heuristics = p->n_heuristics;
}

void problem_draw_conventions(problem *p, problem_group group, dice *d)
{
    rill_settings *s = &p->settings;
    naive_problem *n = &p->naive;
    if (group == PROBLEM_PRUNED) s->finish = (rill_finish)dice_range(d, RILL_FINISH_TOP, RILL_FINISH_ONE_STEP);
    if (group == PROBLEM_PRUNED && dice_chance(d, 50)) s->max_candidates = n->max_candidates = 0;
    n->immediate = s->finish == RILL_FINISH_IMMEDIATE;
    n->shrink = s->finish == RILL_FINISH_SHRINK;
    n->one_step = s->finish == RILL_FINISH_ONE_STEP;
    s->stop = dice_range(d, RILL_STOP_COUNT, RILL_STOP_TOP);
    s->keep = s->stop == RILL_STOP_BOUND || s->stop == RILL_STOP_BOUND_MAX
                  ? RILL_KEEP_BEST
                  : dice_range(d, RILL_KEEP_ALL, RILL_KEEP_BEST);
    s->at_limit = dice_range(d, RILL_LIMIT_OPEN, RILL_LIMIT_BEST_ENDED);
    s->count_end = dice_chance(d, 50);
    s->require_end = dice_chance(d, 30);
    if (group == PROBLEM_PRUNED && dice_chance(d, 30)) s->min_width = dice_range(d, 1, 8);
    n->require_end = s->require_end;
    n->min_width = s->min_width;
    if (dice_chance(d, 40)) s->word_penalty = 0.25 * (double)dice_range(d, -4, 4);
    if (dice_chance(d, 40)) s->max_length_factor = 0.25 * (double)dice_range(d, 1, 8);
    if (dice_chance(d, 60)) s->length_penalty = 0.1 * (double)DICE_PICK(d, -5, 0, 6, 10, 10, 20);
    if (dice_chance(d, 40))
        s->unknown_penalty = dice_chance(d, 50) ? (double)INFINITY : 0.5 * (double)dice_range(d, -2, 6);
    n->stop = s->stop - RILL_STOP_COUNT;
    n->keep = s->keep - RILL_KEEP_ALL;
    n->at_limit = s->at_limit - RILL_LIMIT_OPEN;
    n->count_end = s->count_end;
    n->word_penalty = s->word_penalty;
    n->length_penalty = s->length_penalty;
    n->unknown_penalty = p->model.actions > 1 ? s->unknown_penalty : 0;
    n->unknown = TOY_UNKNOWN;
}

void schedule_draw(schedule *s, problem_group group, dice *d)
{
    const char *const *methods = problem_methods(group);
    int32_t n_methods = 0;
    while (methods[n_methods] != NULL) n_methods++;
    *s = (schedule){.refill = -1};
    s->method = methods[dice_range(d, 0, n_methods - 1)];
    s->n = DICE_PICK(d, 1, 3, 10, 64);
    s->budget = DICE_PICK(d, 0, 0, 10, 37, 100, 1);
    s->sort = (rill_sort)DICE_PICK(d, 0, 0, 0, 1, 2);
    s->unordered = dice_chance(d, 30);
    s->check = dice_chance(d, 15);
    s->by_run = dice_chance(d, 30);
    s->reader_blocks = dice_chance(d, 50);
    if (s->sort != RILL_SORT_NONE && dice_chance(d, 60)) s->sort_window = dice_range(d, 1, 20);
    int streaming = strcmp(s->method, "var-batch") != 0 && strcmp(s->method, "fixed") != 0 && group != PROBLEM_GREEDY;
    if (streaming) {
        static const double shares[] = {-1, 1.0 / 12, 1.0 / 6, 0.5, 0, 1};
        s->refill = shares[dice_range(d, 0, 5)];
        if (dice_chance(d, 40)) s->max_items = s->n * dice_range(d, 1, 4);
        if (dice_chance(d, 25)) s->flush_every = dice_range(d, 1, 9);
    }
    if (dice_chance(d, 15)) {
        static const char *const schedulers[] = {"test-nothing", "test-reverse", "test-newest", "test-random",
                                                 "test-huge"};
        s->scheduler = schedulers[dice_range(d, 0, 4)];
        s->scheduler_arguments = "5,0";
        if (strcmp(s->scheduler, "test-random") != 0) s->scheduler_arguments = "";
    }
}

/* --- solving ------------------------------------------------------------------------------------------------------ */

/* Whether the input is blank: empty, or one of the blank texts that drawing makes, which begin with a space. */
static int is_empty_input(const char *input)
{
    return strcmp(input, "") == 0 || input[0] == ' ';
}

/* Set up the naive search for input i; returns 0 if the input is invalid or blank. `toy` must outlive `naive`. */
static int setup_naive(const problem *p, int32_t i, space *toy, naive_problem *naive)
{
    *toy = (space){&p->model, toy_input_read(&p->model, p->input[i], strlen(p->input[i]))};
    *naive = p->naive;
    naive->actions = p->model.actions;
    naive->phases = p->model.phases;
    naive->path_states = p->model.path;
    naive->n_scorers = p->n_scorers;
    naive->user = toy;
    naive->item = i;
    int32_t set_length = p->settings.max_length;
    naive->max_length = p->model.own_max_length && (set_length == 0 || set_length > toy->input.depth) ? toy->input.depth
                        : set_length > 0                                                              ? set_length
                        : p->model.max_length > 0 ? p->model.max_length
                                                  : p->model.depth;
    if (set_length == 0 && !p->model.own_max_length && naive->max_length < p->settings.min_length)
        naive->max_length = p->settings.min_length;
    double factor = p->settings.max_length_factor;
    if (factor > 0) {
        int32_t wanted = (int32_t)floor(factor * (double)toy->input.depth) + set_length;
        if (wanted < 1) wanted = 1;
        naive->max_length = p->model.own_max_length && wanted > toy->input.depth ? toy->input.depth : wanted;
    }
    /* The end action that at-limit forces takes one of the input's timesteps. */
    if (p->settings.at_limit == RILL_LIMIT_END && p->model.own_max_length && naive->max_length == toy->input.depth)
        naive->max_length--;
    naive->min_length = p->settings.min_length;
    return toy->input.status >= 0 && !is_empty_input(p->input[i]);
}

/* Return the expected result of a blank line: one empty output, made without a search. */
static naive_result empty_output(void)
{
    naive_result r = {.n = 1, .output = calloc(1, sizeof *r.output)};
    if (r.output == NULL) abort();
    return r;
}

void problem_forbid(problem *p, dice *d)
{
    const size_t length = strlen(p->arguments);
    p->model.forbid = dice_range(d, 1, 99999);
    snprintf(p->arguments + length, sizeof p->arguments - length, " forbid=%d", (int)p->model.forbid);
    p->naive.n_forbidden = toy_forbidden_count(&p->model);
    for (int32_t i = 0; i < p->naive.n_forbidden; i++)
        p->naive.forbidden[i].n = toy_forbidden(&p->model, i, p->naive.forbidden[i].action);
}

void problem_draw_constraints(problem *p, dice *d)
{
    int32_t more = dice_range(d, 0, NAIVE_MAX_CHAIN - p->n_scorers), required = 0;
    for (; more > 0; more--) {
        const int32_t i = p->n_scorers++;
        test_phrases *c = &p->phrases[i];
        test_phrases_draw(c, p->model.actions, required, d);
        required |= c->kind == TEST_REQUIRE;
        p->naive.scorer[i] = (naive_scorer){c, test_phrases_score};
        snprintf(p->scorer[i].name, sizeof p->scorer[i].name, "%s", test_phrases_names[c->kind]);
        test_phrases_write(c, toy_end_action(&p->model), p->scorer[i].arguments, sizeof p->scorer[i].arguments);
    }
    if (dice_chance(d, 30)) p->settings.no_repeat_ngram = p->naive.no_repeat_ngram = dice_range(d, 1, 3);
    if (dice_chance(d, 30)) p->settings.repetition_penalty = 0.25 * (double)dice_range(d, 1, 8);
    p->naive.repetition_penalty = p->settings.repetition_penalty;
    if (dice_chance(d, 30)) problem_forbid(p, d);
}

void problem_draw_arguments(problem *p, dice *d)
{
    for (int32_t i = 0; i < p->n_heuristics; i++) {
        problem_name *h = &p->heuristic[i];
        if (dice_chance(d, 30)) continue;
        if (strcmp(h->name, "test-random") == 0)
            snprintf(h->arguments, sizeof h->arguments, "%d,%d", (int)dice_range(d, 0, 9999),
                     (int)dice_range(d, 0, 40));
        else
            snprintf(h->arguments, sizeof h->arguments, "0.%d", (int)dice_range(d, 1, 99));
    }
    for (int32_t i = 0; i < p->n_scorers; i++) {
        problem_name *s = &p->scorer[i];
        if (dice_chance(d, 30)) continue;
        if (strcmp(s->name, "test-random") == 0)
            snprintf(s->arguments, sizeof s->arguments, "%d,%d", (int)dice_range(d, 0, 9999),
                     (int)dice_range(d, 0, 2 * TEST_LAST_FLAG - 1));
        else
            snprintf(s->arguments, sizeof s->arguments, "0.%d", (int)dice_range(d, 1, 99));
    }
}

void problem_draw_variants(problem *p, int n, problem_group group, dice *d)
{
    for (int i = 1; i < n; i++) {
        problem other;
        problem_draw(&other, group, d);
        problem_draw_conventions(&other, group, d);
        p[i] = p[0];
        p[i].settings = other.settings;
        p[i].settings.unknown_penalty = p[0].settings.unknown_penalty;
        problem_draw_arguments(&p[i], d);
    }
}

void problem_solve(problem *p)
{
    p->expected = calloc((size_t)p->n_inputs, sizeof *p->expected);
    if (p->expected == NULL) abort();
    for (int32_t i = 0; i < p->n_inputs; i++) {
        space toy;
        naive_problem naive;
        if (setup_naive(p, i, &toy, &naive))
            p->expected[i] = naive_search(&naive);
        else if (is_empty_input(p->input[i]))
            p->expected[i] = empty_output();
    }
}

int problem_is_searched(const problem *p, int32_t i)
{
    return strncmp(p->input[i], "!bad", 4) != 0 && !is_empty_input(p->input[i]);
}

int problem_optimum(const problem *p, int32_t i, double *score)
{
    space toy;
    naive_problem naive;
    naive_hypothesis best;
    if (!setup_naive(p, i, &toy, &naive) || !naive_enumerate(&naive, &best)) return 0;
    *score = best.sum;
    return 1;
}

int64_t problem_count_above(const problem *p, int32_t i, double rank)
{
    space toy;
    naive_problem naive;
    setup_naive(p, i, &toy, &naive);
    return naive_count_above(&naive, rank);
}

void problem_clear(problem *p)
{
    for (int32_t i = 0; i < p->n_inputs && p->expected != NULL; i++) naive_result_free(&p->expected[i]);
    free(p->expected);
    p->expected = NULL;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

typedef struct words {
    char *text;
    size_t size;
} words;

__attribute__((format(printf, 2, 3))) static int note_difference(words *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(w->text, w->size, format, list);
    va_end(list);
    return 1;
}

static int same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a == 0 && b == 0);
}

static int compare_output(words *w, int32_t input, int32_t rank, const naive_output *e, const record_output *o)
{
    const naive_hypothesis *h = &e->hypothesis;
    if (!same_bits(h->sum, o->value.path_score) || !same_bits(e->score, o->value.score) ||
        !same_bits(e->logp, o->value.logp))
        return note_difference(
            w, "input %d output %d: score %.17g (ranked %.17g, logp %.17g), engine %.17g (%.17g, %.17g), text %s",
            (int)input, (int)rank, h->sum, e->score, e->logp, o->value.path_score, o->value.score, o->value.logp,
            o->text);
    if (o->value.length != h->timesteps)
        return note_difference(w, "input %d output %d: length %d, engine %d", (int)input, (int)rank, (int)h->timesteps,
                               (int)o->value.length);
    if (h->n != o->value.n_ids)
        return note_difference(w, "input %d output %d: %d actions, engine %d", (int)input, (int)rank, (int)h->n,
                               (int)o->value.n_ids);
    char text[NAIVE_MAX_LENGTH * 4] = "";
    size_t pos = 0;
    for (int32_t i = 0; i < h->n; i++) {
        pos += (size_t)snprintf(text + pos, sizeof text - pos, "%s%d", i > 0 ? " " : "", (int)h->action[i]);
        if (h->action[i] != o->action[i] || !same_bits((double)h->logp[i], (double)o->logps[i]))
            return note_difference(w, "input %d output %d action %d: %d (%.9g), engine %d (%.9g)", (int)input,
                                   (int)rank, (int)i, (int)h->action[i], (double)h->logp[i], (int)o->action[i],
                                   (double)o->logps[i]);
    }
    if (strcmp(text, o->text) != 0 || strlen(o->text) != o->value.text_bytes)
        return note_difference(w, "input %d output %d: \"%s\", engine \"%s\"", (int)input, (int)rank, text, o->text);
    if (h->truncated != is_truncated(&o->value))
        return note_difference(w, "input %d output %d: truncated %d", (int)input, (int)rank, h->truncated);
    return 0;
}

/* Whether the search of input i needs more states than the schedule allows. */
static int too_large(const problem *p, const schedule *s, int32_t i)
{
    return s->bound > 0 && p->expected[i].states > s->bound;
}

static int compare_result(words *w, const problem *p, const schedule *s, int32_t i, const record_result *r)
{
    const naive_result *e = &p->expected[i];
    int32_t best = p->settings.n_best > 0 ? p->settings.n_best : 1;
    int bad = strncmp(p->input[i], "!bad", 4) == 0;
    rill_status status = bad ? RILL_ERR_INPUT : e->n == 0 ? RILL_ERR_NO_HYPOTHESIS : RILL_OK;
    if (r->taken != 1) return note_difference(w, "input %d: given out %d times", (int)i, r->taken);
    if (!bad && too_large(p, s, i)) {
        if (r->status == RILL_ERR_INPUT && strstr(r->message, s->max_nodes > 0 ? "max-nodes" : "memory") != NULL)
            return 0;
        return note_difference(w, "input %d: needs %lld states of %d, engine %s \"%s\"", (int)i, (long long)e->states,
                               (int)s->bound, rill_status_name(r->status), r->message);
    }
    if (r->status != status || (r->status < 0) != (r->message[0] != '\0'))
        return note_difference(w, "input %d: status %s, engine %s \"%s\"", (int)i, rill_status_name(status),
                               rill_status_name(r->status), r->message);
    if (r->outputs_found != e->n || r->n != (e->n < best ? e->n : best))
        return note_difference(w, "input %d: %d outputs, engine %d of %d (best score %.17g, engine's %.17g)", (int)i,
                               (int)e->n, (int)r->n, (int)r->outputs_found, e->n > 0 ? e->output[0].hypothesis.sum : 0,
                               r->n > 0 ? r->output[0].value.path_score : 0);
    for (int32_t o = 0; o < r->n; o++)
        if (compare_output(w, i, o, &e->output[o], &r->output[o])) return 1;
    return 0;
}

/* Maximum number of states for which all workers may reserve memory. A worker's share, at least 8 nodes, grows by half up to the whole
 * limit. */
static int64_t max_node_capacity(const schedule *s)
{
    if (s->workers <= 1) return s->bound > 8 ? s->bound : 8;
    return (int64_t)(s->bound > 12 ? s->bound : 12) * s->workers;
}

static int compare_counters(words *w, const problem *p, const schedule *s, const engine_record *r)
{
    int64_t expansions = 0, outputs = 0, truncated = 0, longest = 0, failed = 0, candidates = 0, pruned = 0;
    int64_t classes = 0, rescored = 0;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const naive_result *e = &p->expected[i];
        if (too_large(p, s, i)) {
            failed++;
            continue;
        }
        expansions += e->expansions;
        outputs += e->n;
        truncated += e->truncated;
        candidates += e->candidates;
        pruned += e->pruned;
        classes += e->classes;
        rescored += e->rescored;
        failed += e->n == 0;
        if (e->timesteps > longest) longest = e->timesteps;
    }
    const rill_stats *t = &r->stats;
    if (t->inputs != p->n_inputs || t->failed != failed)
        return note_difference(w, "inputs %lld, failed %lld of %lld", (long long)t->inputs, (long long)t->failed,
                               (long long)failed);
    /* With a memory limit, searches that were restarted or cut short have added to the engine's counters. */
    if (s->bound == 0 && t->expansions != expansions)
        return note_difference(w, "expansions %lld, engine %lld", (long long)expansions, (long long)t->expansions);
    if (s->bound == 0 && (t->candidates != candidates || t->pruned != pruned))
        return note_difference(w, "candidates %lld, pruned %lld, engine %lld and %lld", (long long)candidates,
                               (long long)pruned, (long long)t->candidates, (long long)t->pruned);
    if (s->bound == 0 && p->settings.cube > RILL_CUBE_NONE &&
        (t->cube_classes != classes || t->cube_rescored != rescored))
        return note_difference(w, "classes %lld, rescored %lld, engine %lld and %lld", (long long)classes,
                               (long long)rescored, (long long)t->cube_classes, (long long)t->cube_rescored);
    if (t->expansions < expansions || (t->expansions > expansions && t->restarted == 0 && failed == 0))
        return note_difference(w, "expansions %lld, engine %lld, nothing sent back", (long long)expansions,
                               (long long)t->expansions);
    if (t->outputs != outputs || t->truncated != truncated)
        return note_difference(w, "outputs %lld truncated %lld, engine %lld %lld", (long long)outputs,
                               (long long)truncated, (long long)t->outputs, (long long)t->truncated);
    if (t->longest_item_timesteps != longest)
        return note_difference(w, "longest item %lld, engine %lld", (long long)longest,
                               (long long)t->longest_item_timesteps);
    if (t->nodes_in_use != 0 || t->histories_in_use != 0)
        return note_difference(w, "%lld rows and %lld histories are in use at the end", (long long)t->nodes_in_use,
                               (long long)t->histories_in_use);
    const int64_t min_peak = expansions > 0; /* if a hypothesis was expanded, each peak is at least 1 */
    if (t->histories_peak < min_peak || t->histories_peak > t->histories_capacity || t->nodes_peak < min_peak ||
        t->nodes_peak > t->nodes_capacity || t->items_peak < min_peak || t->refills < min_peak ||
        t->timesteps < min_peak)
        return note_difference(w, "peaks: %lld histories with room for %lld, %lld rows with room for %lld, %lld items",
                               (long long)t->histories_peak, (long long)t->histories_capacity, (long long)t->nodes_peak,
                               (long long)t->nodes_capacity, (long long)t->items_peak);
    if (s->bound != t->nodes_bound ||
        (s->bound > 0 && (t->nodes_capacity > max_node_capacity(s) || r->toy.nodes_peak > s->bound)))
        return note_difference(w, "bound %d, engine %lld with room for %lld; the domain had %lld", (int)s->bound,
                               (long long)t->nodes_bound, (long long)t->nodes_capacity, (long long)r->toy.nodes_peak);
    return 0;
}

int problem_compare(const problem *p, const schedule *s, const engine_record *r, char *message, size_t size)
{
    words w = {message, size};
    int64_t position = 0;
    if (r->status < 0) return note_difference(&w, "the run failed: %s: %s", rill_status_name(r->status), r->message);
    if (r->toy.violations > 0) return note_difference(&w, "contract: %s", r->toy.first_violation);
    if (r->n_results != p->n_inputs) return note_difference(&w, "%lld results", (long long)r->n_results);
    for (int32_t i = 0; i < p->n_inputs; i++) {
        if (compare_result(&w, p, s, i, &r->result[i])) return 1;
        if (!s->unordered && r->result[i].position != position++)
            return note_difference(&w, "input %d is out of order", (int)i);
    }
    return compare_counters(&w, p, s, r);
}

/* --- describing and failing --------------------------------------------------------------------------------------- */

void problem_describe(const problem *p, const schedule *s, char *out, size_t size)
{
    const rill_settings *t = &p->settings;
    int n = snprintf(
        out, size,
        "toy \"%s\" inputs=%d | k=%d M=%d stop_after=%d patience=%g min=%d max=%d alpha=%g n_best=%d | method=%s n=%d "
        "max_items=%d budget=%d max_nodes=%d memory=%lld refill=%g sort=%d window=%d flush=%d unordered=%d check=%d scheduler=%s run=%d "
        "workers=%d |",
        p->arguments, (int)p->n_inputs, (int)t->k, (int)t->max_candidates, (int)t->stop_after, t->patience,
        (int)t->min_length, (int)t->max_length, t->length_penalty, (int)t->n_best, s->method, (int)s->n,
        (int)s->max_items, (int)s->budget, (int)s->max_nodes, (long long)s->memory, s->refill, (int)s->sort,
        (int)s->sort_window, (int)s->flush_every, (int)s->unordered, (int)s->check, s->scheduler ? s->scheduler : "-",
        s->by_run, (int)s->workers);
    n += snprintf(
        out + n, size - (size_t)n,
        " finish=%d keep=%d stop=%d at_limit=%d count_end=%d word=%g factor=%g unknown=%g least=%d whole=%d ngram=%d again=%g |",
        (int)t->finish, (int)t->keep, (int)t->stop, (int)t->at_limit, (int)t->count_end, t->word_penalty,
        t->max_length_factor, t->unknown_penalty, (int)t->min_width, (int)t->require_end, (int)t->no_repeat_ngram,
        t->repetition_penalty);
    for (int32_t i = 0; i < p->n_heuristics && (size_t)n < size; i++)
        n += snprintf(out + n, size - (size_t)n, " heuristic %s:%s", p->heuristic[i].name, p->heuristic[i].arguments);
    for (int32_t i = 0; i < p->n_scorers && (size_t)n < size; i++)
        n += snprintf(out + n, size - (size_t)n, " scorer %s:%s", p->scorer[i].name, p->scorer[i].arguments);
}

void problem_fail(const problem *p, const schedule *s, uint64_t seed, const char *what)
{
    char description[2000];
    problem_describe(p, s, description, sizeof description);
    fail_msg("seed %llu: %s\n  %s", (unsigned long long)seed, what, description);
}

void problem_expect(const problem *p, const schedule *s, uint64_t seed, const engine_record *record)
{
    char message[600];
    if (problem_compare(p, s, record, message, sizeof message)) problem_fail(p, s, seed, message);
}

void problem_expect_same(const problem *p, const schedule *s, uint64_t seed, int32_t input, const record_result *found,
                         const record_result *expected)
{
    char where[300], what[400];
    if (!record_differ(found, expected, where, sizeof where)) return;
    snprintf(what, sizeof what, "input %d has another result: %s", (int)input, where);
    problem_fail(p, s, seed, what);
}

void problem_draw_undisturbed(problem *p, schedule *s, problem_group group, dice *d, engine_record *baseline)
{
    problem_draw(p, group, d);
    schedule_draw(s, group, d);
    s->by_run = 0;
    if (dice_chance(d, 40)) s->max_nodes = dice_range(d, 10, 100);
    engine_run(p, s, NULL, baseline);
}

int problem_differs(const problem *p, const schedule *s, uint64_t seed, int quiet, rill_stats *stats)
{
    engine_record record;
    char message[600], description[2000];
    engine_run(p, s, NULL, &record);
    int bad = problem_compare(p, s, &record, message, sizeof message);
    if (stats != NULL) *stats = record.stats;
    engine_record_clear(&record);
    if (bad && !quiet) {
        problem_describe(p, s, description, sizeof description);
        print_error("seed %llu: %s\n  %s\n", (unsigned long long)seed, message, description);
    }
    return bad;
}
