/* Fuzz target: a plugin that makes mistakes: a domain, a heuristic, a scorer and a scheduler over the toy domain.
 * Whatever they return, a run gives results in order or an error with a message: no crash, no hang, no leak. If only
 * the scheduler makes mistakes and the run goes on, results are those of a run without mistakes, since a schedule
 * changes no result.
 *
 * The bytes say what the toy is like, which parts make mistakes, and at each call whether and which. When the bytes
 * have run out, calls are correct. Plugins that write to memory that is not theirs are not tested: nobody can guard
 * against that in one process. */
#include <math.h>
#include <stdio.h>

#include "fuzz_target.h"
#include "rill/run.h"
#include "support/dice.h"
#include "support/tables.h"
#include "support/toy_domain.h"

enum { INPUTS = 6, MAX_MEMORY = 64 << 20 };
enum { FAULTY_DOMAIN = 1, FAULTY_HEURISTIC = 2, FAULTY_SCORER = 4, FAULTY_SCHEDULER = 8 };

/* Global, since a plugin's tables have no place for data that they share. */
static dice input_dice;
static int faulty_parts;

/* Return 0 to behave correctly, else one of `kinds` mistakes. */
static int choose_fault(int whose, int kinds)
{
    return (faulty_parts & whose) != 0 && dice_chance(&input_dice, 20) ? dice_range(&input_dice, 1, kinds) : 0;
}

static rill_status odd_status(void)
{
    return (rill_status)DICE_PICK(&input_dice, 1, 7, RILL_AGAIN, RILL_END_OF_INPUT, -1, -12345, RILL_ERR_INPUT);
}

static float odd_number(void)
{
    switch (dice_range(&input_dice, 0, 6)) {
    case 0: return NAN;
    case 1: return INFINITY;
    case 2: return -INFINITY;
    case 3: return 3e38f;
    case 4: return -3e38f;
    case 5: return 5;
    default: return 0;
    }
}

static int32_t odd_integer(void)
{
    return DICE_PICK(&input_dice, -1, 0, 1, 3, 99, INT32_MAX, INT32_MIN, -5);
}

/* --- the domain --------------------------------------------------------------------------------------------------- */

static rill_status faulty_open(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                               void **self, rill_domain_info *info)
{
    rill_status status = toy_domain.open(table, ctx, options, self, info);
    if (status < 0) return status;
    switch (choose_fault(FAULTY_DOMAIN, 10)) {
    case 1: info->actions = DICE_PICK(&input_dice, 0, -5, 2); break;
    case 2: info->phases = odd_integer(); break;
    case 3: info->max_length = DICE_PICK(&input_dice, 0, -3, 1, INT32_MAX); break;
    case 4: info->state_need = (rill_state_need)odd_integer(); break;
    case 5: info->node_bytes = odd_integer(); break;
    case 6: info->slot_bytes = info->slot_unit_bytes = INT64_MAX; break;
    case 7: info->max_positions = odd_integer(); break;
    case 8: info->max_choices_phases = (uint32_t)odd_integer(); break;
    case 9: info->end_action = odd_integer(); break;
    case 10: info->terminals_by_flag = !info->terminals_by_flag; break;
    default: break;
    }
    return status;
}

static rill_status faulty_reserve(void *self, int32_t nodes, int32_t slots)
{
    rill_status status = toy_domain.reserve(self, nodes, slots);
    return choose_fault(FAULTY_DOMAIN, 1) ? odd_status() : status;
}

static rill_status faulty_encode(void *self, int32_t m, rill_input *inputs)
{
    rill_status status = toy_domain.encode(self, m, inputs);
    for (int32_t i = 0; i < m; i++) switch (choose_fault(FAULTY_DOMAIN, 8)) {
        case 1: inputs[i].slot = odd_integer(); break;
        case 2: inputs[i].id = odd_integer(); break;
        case 3: inputs[i].text = NULL; break;
        case 4: inputs[i].length = (size_t)odd_integer(); break;
        case 5: inputs[i].size = dice_chance(&input_dice, 50) ? INT64_MAX : odd_integer(); break;
        case 6: inputs[i].max_length = odd_integer(); break;
        case 7: memset(inputs[i].message, 'x', sizeof inputs[i].message); break;
        case 8: return odd_status();
        default: break;
        }
    return status;
}

static rill_status faulty_step(void *self, const rill_rows *rows)
{
    rill_status status = toy_domain.step(self, rows);
    return choose_fault(FAULTY_DOMAIN, 1) ? odd_status() : status;
}

static void spoil_row(const rill_score_request *request, int32_t row, rill_score_result *out)
{
    int32_t first = row * out->stride, n = out->count[row];
    int32_t choice = first + (n > 0 ? dice_range(&input_dice, 0, n - 1) : 0);
    switch (dice_range(&input_dice, 0, 6)) {
    case 0: out->count[row] = DICE_PICK(&input_dice, -1, 0, 1, INT32_MAX, INT32_MIN); break;
    case 1: out->count[row] = request->max_choices + 1; break;
    case 2: out->ends[row] = (uint8_t)DICE_PICK(&input_dice, 1, 2, 3, 200); break;
    case 3:
        if (n > 0) out->logp[choice] = odd_number();
        break;
    case 4:
        if (n > 0) out->action[choice] = odd_integer();
        break;
    case 5:
        if (n > 0) out->terminal[choice] = (uint8_t)DICE_PICK(&input_dice, 0, 1, 2, 3, 200);
        break;
    default:
        for (int32_t q = 0; q < request->n_picks; q++)
            if (request->pick_row[q] == row) out->pick_logp[q] = odd_number();
        break;
    }
}

static rill_status faulty_score(void *self, const rill_rows *rows, const rill_score_request *request,
                                rill_score_result *out)
{
    rill_status status = toy_domain.score(self, rows, request, out);
    for (int32_t r = 0; r < rows->n && status == RILL_OK; r++)
        if (choose_fault(FAULTY_DOMAIN, 1)) spoil_row(request, r, out);
    switch (choose_fault(FAULTY_DOMAIN, 3)) {
    case 1: return odd_status();
    case 2: out->stride = odd_integer(); break;
    case 3: *out = (rill_score_result){0}; break;
    default: break;
    }
    return status;
}

/* As the toy's function, which cannot be used: it checks each score, and here scores may be wrong. */
static rill_status faulty_finalize(void *self, const rill_hypothesis *h, rill_text *out)
{
    (void)self;
    switch (choose_fault(FAULTY_DOMAIN, 5)) {
    case 1: return odd_status();
    case 2: return rill_text_append(out, "a\nb\r\0c", 6);
    case 3: out->length = dice_chance(&input_dice, 50) ? out->capacity + 1 : SIZE_MAX; return RILL_OK;
    case 4: out->length = 0; return RILL_OK;
    default: break;
    }
    for (int32_t i = 0; i < h->length; i++) {
        rill_status status = rill_text_printf(out, "%d ", (int)h->action[i]);
        if (status < 0) return status;
    }
    return RILL_OK;
}

static int64_t faulty_measure(void *self, const char *text, size_t length)
{
    (void)self;
    (void)text;
    return choose_fault(FAULTY_DOMAIN, 1) ? DICE_PICK(&input_dice, -5, INT32_MIN, INT32_MAX) : (int64_t)length;
}

/* --- the heuristic, the scorer and the scheduler --------------------------------------------------------------------- */

static rill_status faulty_apply(void *self, rill_candidates *b)
{
    (void)self;
    for (int32_t i = 0; i < b->n; i++) switch (choose_fault(FAULTY_HEURISTIC, 3)) {
        case 1: b->width[i] = odd_integer(); break;
        case 2: b->stop[i] = (uint8_t)DICE_PICK(&input_dice, 1, 2, 255); break;
        case 3:
            for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++)
                b->keep[j] = (uint8_t)DICE_PICK(&input_dice, 0, 1, 77, 255);
            break;
        default: break;
        }
    switch (choose_fault(FAULTY_HEURISTIC, 3)) {
    case 1: return odd_status();
    case 2: b->n = odd_integer(); break;
    case 3: *b = (rill_candidates){0}; break;
    default: break;
    }
    return RILL_OK;
}

static rill_status add_odd_modifier(rill_modifiers *modifiers, int32_t row)
{
    switch (dice_range(&input_dice, 0, 8)) {
    case 0: return rill_modifiers_add(modifiers, row, odd_integer(), odd_number());
    case 1: return rill_modifiers_add(modifiers, row, 1, odd_number());
    case 2: return rill_modifiers_ban(modifiers, row, odd_integer());
    case 3: return rill_modifiers_allow(modifiers, row, odd_integer());
    case 4: return rill_modifiers_allow_none(modifiers, row);
    case 5: return rill_modifiers_end_rule(modifiers, row, (rill_end_rule)odd_integer());
    case 6: return rill_modifiers_reward(modifiers, row, odd_number());
    case 7: return rill_modifiers_end_reward(modifiers, row, odd_number());
    default: return rill_modifiers_limit_children(modifiers, row, odd_integer());
    }
}

static rill_status faulty_modify(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    rill_status status = RILL_OK;
    (void)self;
    for (int32_t r = 0; r < rows->n && status == RILL_OK; r++)
        if (choose_fault(FAULTY_SCORER, 1))
            status = add_odd_modifier(modifiers, dice_chance(&input_dice, 10) ? odd_integer() : r);
    if (choose_fault(FAULTY_SCORER, 1)) /* an invalid modifier whose error status the scorer does not return */
        return dice_chance(&input_dice, 50) ? odd_status() : RILL_OK;
    return status;
}

static rill_status faulty_choose(void *self, const rill_sched_view *f, int32_t *order, int32_t *count)
{
    (void)self;
    *count = f->n;
    for (int32_t i = 0; i < f->n; i++) order[i] = i;
    switch (choose_fault(FAULTY_SCHEDULER, 5)) {
    case 1: *count = odd_integer(); break;
    case 2:
        if (f->n > 0) order[dice_range(&input_dice, 0, f->n - 1)] = odd_integer();
        break;
    case 3: *count = f->n > 0 ? dice_range(&input_dice, 0, f->n) : 0; break;
    case 4:
        for (int32_t i = 0; i < f->n; i++) order[i] = f->n - 1 - i;
        break;
    case 5: return odd_status();
    default: break;
    }
    return RILL_OK;
}

static rill_status faulty_refill(void *self, const rill_sched_view *f, int32_t *admit)
{
    (void)self;
    *admit = choose_fault(FAULTY_SCHEDULER, 1) ? odd_integer() : f->max_items - f->n;
    return choose_fault(FAULTY_SCHEDULER, 1) ? odd_status() : RILL_OK;
}

static int32_t faulty_prefetch(void *self, const rill_sched_view *f)
{
    (void)self;
    return choose_fault(FAULTY_SCHEDULER, 1) ? odd_integer() : f->batch;
}

static const rill_heuristic heuristic = TEST_HEURISTIC("faulty-heuristic", .apply = faulty_apply);
static const rill_scorer scorer = TEST_SCORER("faulty-scorer", .score = faulty_modify);
static const rill_scheduler scheduler = TEST_SCHEDULER("faulty-scheduler", .choose = faulty_choose,
                                                       .refill = faulty_refill, .encode_ahead = faulty_prefetch);

/* --- a run -------------------------------------------------------------------------------------------------------- */

static void *allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    size_t *held = user;
    void *fresh = NULL;
    if (new_size > MAX_MEMORY || (new_size > old_size && new_size - old_size > MAX_MEMORY - *held)) return NULL;
    if (new_size > 0 && posix_memalign(&fresh, 64, new_size) != 0) return NULL;
    if (fresh != NULL && block != NULL) memcpy(fresh, block, old_size < new_size ? old_size : new_size);
    free(block);
    *held += new_size - old_size;
    return fresh;
}

/* The outcome of a run. */
typedef struct outcome {
    rill_status status;
    int64_t next;     /* smallest id that the next result may have */
    int32_t n;        /* number of results */
    uint64_t results; /* hash of all results */
    int32_t n_best;
} outcome;

static rill_status read_line(void *user, int may_block, const char **text, size_t *length)
{
    static const char *const lines[INPUTS] = {"one", "second one", "!bad", "the fourth", "", "the last of them all"};
    int32_t *next = user;
    (void)may_block;
    if (*next == INPUTS) return RILL_END_OF_INPUT;
    *text = lines[*next];
    *length = strlen(lines[(*next)++]);
    return RILL_OK;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) hash = dice_mix(hash, ((const uint8_t *)bytes)[i]);
    return hash;
}

static rill_status take_result(void *user, const rill_result *result)
{
    outcome *o = user;
    require(result->id >= o->next); /* a run that ended with an error may leave ids out */
    o->next = result->id + 1;
    o->n++;
    require(result->status == RILL_OK ? result->n_outputs > 0 && result->n_outputs <= o->n_best
                                      : result->message != NULL);
    require(memchr(result->message, '\0', 400) != NULL);
    for (int32_t i = 0; i < result->n_outputs; i++) {
        const rill_output *out = rill_result_output(result, i);
        require(isfinite(out->path_score) && isfinite(out->score) && isfinite(out->logp));
        require(i == 0 || rill_result_output(result, i - 1)->score >= out->score);
        for (int32_t a = 0; a < out->n_ids; a++) require(isfinite(out->id_logps[a]));
        o->results = hash_bytes(hash_bytes(o->results, out->text, out->text_bytes), &out->path_score,
                                sizeof out->path_score);
    }
    o->results = dice_mix(o->results, (uint64_t)result->n_outputs);
    return RILL_OK;
}

typedef struct plan {
    char arguments[100];
    rill_settings settings;
    int who;
} plan;

static void draw_plan(plan *p, dice *d)
{
    static const char *const methods[] = {"stream-all", "var-batch", "var-stream", "top-up", "var-stream-fifo"};
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    p->settings = setup.settings;
    p->who = dice_range(d, 0, 15);
    snprintf(p->arguments, sizeof p->arguments, "seed=%d actions=%d depth=%d legal=%d ending=%d phases=%d",
             dice_range(d, 0, 255), dice_range(d, 2, 8), dice_range(d, 2, 6), dice_range(d, 50, 100),
             dice_range(d, 5, 50), dice_range(d, 1, 2));
    snprintf(p->settings.method, sizeof p->settings.method, "%s", methods[dice_range(d, 0, 4)]);
    p->settings.k = dice_range(d, 1, 5);
    p->settings.n = dice_range(d, 1, 4);
    p->settings.n_best = dice_range(d, 1, 6);
    p->settings.max_length = dice_range(d, 1, 8);
    p->settings.budget = dice_range(d, 0, 6);
    p->settings.check = dice_range(d, 0, 1);
    p->settings.distinct = dice_range(d, 0, 1);
    p->settings.length_penalty = dice_range(d, -25, 25);
    p->settings.sort = (rill_sort)dice_range(d, 0, 2);
    p->settings.at_limit = dice_range(d, 0, 5);
    p->settings.min_length = dice_range(d, 0, 1);
}

static void decode(rill_context *ctx, rill_model *model, const plan *p, outcome *o)
{
    const rill_chain_entry heuristics = {heuristic.name, ""}, scorers = {scorer.name, ""},
                           schedulers = {scheduler.name, ""};
    rill_engine *engine = NULL;
    rill_engine_setup setup;
    int32_t next = 0;
    rill_engine_setup_default(&setup);
    setup.settings = p->settings;
    setup.heuristics = &heuristics;
    setup.scorers = &scorers;
    setup.scheduler = &schedulers;
    setup.n_heuristics = (p->who & FAULTY_HEURISTIC) != 0;
    setup.n_scorers = (p->who & FAULTY_SCORER) != 0;
    o->status = rill_engine_create(&engine, ctx, model, &setup);
    if (o->status == RILL_OK) o->status = rill_run(engine, read_line, &next, take_result, o);
    if (o->status == RILL_OK) require(o->n == INPUTS);
    if (o->status < 0) require(rill_error(ctx)[0] != '\0' && rill_error_status(ctx) == o->status);
    rill_engine_destroy(engine);
}

static outcome run(const plan *p, const dice *d, int faulty)
{
    outcome o = {.n_best = p->settings.n_best};
    size_t held = 0;
    const rill_context_options with = {.struct_size = sizeof with, .allocate = allocate, .allocate_user = &held};
    const rill_open_options options = {.struct_size = sizeof options, .threads = 1, .arguments = p->arguments};
    rill_domain domain = toy_domain;
    rill_context *ctx;
    rill_model *model;
    input_dice = *d;
    faulty_parts = faulty;
    domain.name = "slips";
    domain.open = faulty_open;
    domain.reserve = faulty_reserve;
    domain.encode = faulty_encode;
    domain.step = faulty_step;
    domain.score = faulty_score;
    domain.finalize = faulty_finalize;
    domain.measure = faulty_measure;
    require(rill_context_create(&ctx, &with) == RILL_OK && rill_register_core(ctx) == RILL_OK);
    require(rill_register_domain(ctx, &domain) == RILL_OK && rill_register_heuristic(ctx, &heuristic) == RILL_OK);
    require(rill_register_scorer(ctx, &scorer) == RILL_OK && rill_register_scheduler(ctx, &scheduler) == RILL_OK);
    o.status = rill_model_open(&model, ctx, domain.name, &options);
    if (o.status == RILL_OK) {
        decode(ctx, model, p, &o);
        rill_model_close(model);
    } else {
        require(rill_error(ctx)[0] != '\0');
    }
    require(rill_memory_used(ctx) < 1 << 20);
    rill_context_destroy(ctx);
    require(held == 0);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dice d = dice_from_bytes(data, size);
    plan p;
    draw_plan(&p, &d);
    outcome o = run(&p, &d, p.who);
    if (p.who != FAULTY_SCHEDULER || o.status != RILL_OK) return 0;
    outcome honest = run(&p, &d, 0);
    require(honest.status == RILL_OK && honest.results == o.results);
    return 0;
}
