/* Prints which framework functions one plain timestep calls: three inputs, k = 4, one heuristic, nothing admitted or
 * finished.
 *
 * The framework is compiled with -O0 -finstrument-functions. The output has lines "call DEPTH CALLER CALLEE", one per
 * pair of functions with its smallest depth. meter.py turns the hexadecimal addresses into names. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rill/plugin.h"
#include "rill/rill.h"

#define UNSEEN __attribute__((no_instrument_function))

enum { ACTIONS = 12, WORDS = 20, MAX_CALLS = 1 << 16, MAX_DEPTH = 256, MAX_NODES = 4096 };

/* --- recording calls ---------------------------------------------------------------------------------------------- */

typedef struct call {
    void *caller, *callee;
    int depth;
} call;

static call calls[MAX_CALLS];
static void *stack[MAX_DEPTH];
static int n_calls, depth, recording;

UNSEEN void __cyg_profile_func_enter(void *callee, void *site);
UNSEEN void __cyg_profile_func_exit(void *callee, void *site);

void __cyg_profile_func_enter(void *callee, void *site)
{
    (void)site;
    if (!recording || depth == MAX_DEPTH) return;
    void *caller = depth > 0 ? stack[depth - 1] : NULL;
    stack[depth++] = callee;
    int i = 0;
    while (i < n_calls && (calls[i].caller != caller || calls[i].callee != callee || calls[i].depth != depth)) i++;
    if (i == n_calls && n_calls < MAX_CALLS) calls[n_calls++] = (call){caller, callee, depth};
}

void __cyg_profile_func_exit(void *callee, void *site)
{
    (void)callee, (void)site;
    if (recording && depth > 0) depth--;
}

/* --- a domain with a score for every action ------------------------------------------------------------------------ */

static int32_t last_action[MAX_NODES];

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **self, rill_domain_info *info)
{
    (void)table, (void)options;
    *info = (rill_domain_info){.actions = ACTIONS, .state_need = RILL_STATE_PARENT, .max_length = WORDS};
    *self = ctx;
    return RILL_OK;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    (void)self, (void)slots;
    return nodes <= MAX_NODES ? RILL_OK : RILL_ERR_MEMORY;
}

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    (void)self, (void)m, (void)inputs;
    return RILL_OK;
}

static rill_status step(void *self, const rill_rows *rows)
{
    (void)self;
    for (int32_t i = 0; i < rows->n; i++) last_action[rows->node[i]] = rows->action[i];
    return RILL_OK;
}

/* Return all choices of each row, best first. */
static rill_status score(void *self, const rill_rows *rows, const rill_score_request *request, rill_score_result *out)
{
    (void)self;
    for (int32_t i = 0; i < rows->n; i++) {
        const int32_t first = last_action[rows->node[i]] * 5 + rows->slot[i] + 7;
        out->count[i] = request->max_choices < ACTIONS ? request->max_choices : ACTIONS;
        if (rows->depth[i] == WORDS - 1) out->ends[i] = RILL_ENDS_LAST;
        for (int32_t j = 0; j < out->count[i]; j++) {
            out->action[i * out->stride + j] = (first + j) % ACTIONS;
            out->logp[i * out->stride + j] = -0.25f - 0.5f * (float)j;
        }
    }
    return RILL_OK;
}

static rill_status finalize(void *self, const rill_hypothesis *h, rill_text *out)
{
    (void)self, (void)h, (void)out;
    return RILL_OK;
}

static void close_model(void *self)
{
    (void)self;
}

static const rill_domain plain = {.abi_version = RILL_ABI_VERSION,
                                  .struct_size = sizeof plain,
                                  .name = "plain",
                                  .summary = "for the meter",
                                  .open = open_model,
                                  .reserve = reserve,
                                  .encode = encode,
                                  .step = step,
                                  .score = score,
                                  .finalize = finalize,
                                  .close = close_model};

int main(void)
{
    rill_context *ctx = NULL;
    rill_model *model = NULL;
    rill_engine *engine = NULL;
    rill_engine_setup setup;
    rill_chain_entry absolute = {"absolute", "6"};
    rill_open_options options = {.struct_size = sizeof options, .threads = 1};
    rill_engine_setup_default(&setup);
    setup.settings.k = 4;
    setup.settings.n = 3;
    setup.heuristics = &absolute;
    setup.n_heuristics = 1;
    rill_status status = rill_context_create(&ctx, NULL);
    if (status == RILL_OK) status = rill_register_core(ctx);
    if (status == RILL_OK) status = rill_register_domain(ctx, &plain);
    if (status == RILL_OK) status = rill_model_open(&model, ctx, "plain", &options);
    if (status == RILL_OK) status = rill_engine_create(&engine, ctx, model, &setup);
    for (int i = 0; status == RILL_OK && i < 3; i++) status = rill_engine_submit(engine, "input", strlen("input"));
    if (status == RILL_OK) rill_engine_close_input(engine);
    for (int i = 0; status == RILL_OK && i < 5; i++) {
        recording = i == 4;
        status = rill_engine_step(engine);
    }
    recording = 0;
    if (status != RILL_OK) fprintf(stderr, "plain_timestep: %s\n", rill_error(ctx));
    for (int i = 0; i < n_calls; i++)
        printf("call %d %" PRIxPTR " %" PRIxPTR "\n", calls[i].depth, (uintptr_t)calls[i].caller,
               (uintptr_t)calls[i].callee);
    rill_engine_destroy(engine);
    rill_model_close(model);
    rill_context_destroy(ctx);
    return status != RILL_OK;
}
