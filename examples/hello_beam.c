/* hello_beam: a complete program that decodes with rill and its own domain (model).
 *
 * The model is a hidden Markov model: the weather of each day (rainy, sunny) is hidden, a friend's activity (walk, shop, clean) is
 * observed. An action is one day's weather; a hypothesis is a sequence of days, scored by its joint log-probability with the observations.
 * The best hypothesis for "walk shop clean" has probability 0.01344.
 *
 *     hello_beam "walk shop clean" "clean clean"
 *
 * To write your own domain, start from template_domain.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rill/plugin.h"
#include "rill/rill.h"

enum { RAINY, SUNNY, WEATHERS, MAX_DAYS = 64, MAX_SLOTS = 64, MAX_STATE_NODES = 4096 };

static const char *const weather_name[] = {"rainy", "sunny"}, *const activity_name[] = {"walk", "shop", "clean"};
static const float first[] = {0.6f, 0.4f}, next[][2] = {{0.7f, 0.3f}, {0.4f, 0.6f}};
static const float seen[][3] = {{0.1f, 0.4f, 0.5f}, {0.6f, 0.3f, 0.1f}};

/* A hypothesis's state is the last day's weather. States and inputs are in static arrays; the engine assigns state ids and slots. */
static int last_weather[MAX_STATE_NODES], activities[MAX_SLOTS][MAX_DAYS], days[MAX_SLOTS];

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **self, rill_domain_info *info)
{
    (void)table, (void)options;
    *info = (rill_domain_info){.actions = WEATHERS, .state_need = RILL_STATE_PARENT, .max_length = MAX_DAYS};
    *self = ctx;
    return RILL_OK;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    int fits = nodes <= MAX_STATE_NODES && slots <= MAX_SLOTS;
    return fits ? RILL_OK
                : rill_fail(self, RILL_ERR_MEMORY, "%d states are more than this example's arrays hold", (int)nodes);
}

/* Return the input's next word from `pos` on, which is not NUL-terminated. *length: its bytes; 0 after the last
 * word. */
static const char *input_word(const rill_input *in, size_t pos, size_t *length)
{
    const char *word_end = memchr(in->text + pos, ' ', in->length - pos);
    *length = word_end != NULL ? (size_t)(word_end - in->text) - pos : in->length - pos;
    return in->text + pos;
}

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    (void)self;
    for (rill_input *in = inputs; in < inputs + m; in++) {
        int n = 0, activity = 0;
        for (size_t pos = 0, length; pos < in->length && n < MAX_DAYS && activity < 3;
             pos += length + 1, n += activity < 3) {
            const char *word = input_word(in, pos, &length);
            for (activity = 0; activity < 3; activity++)
                if (strlen(activity_name[activity]) == length && memcmp(word, activity_name[activity], length) == 0)
                    break;
            activities[in->slot][n] = activity;
        }
        days[in->slot] = n;
        if (activity == 3)
            rill_input_fail(in, RILL_ERR_INPUT, "day %d: walk, shop or clean was expected", n + 1);
        else if (n == 0 || n == MAX_DAYS)
            rill_input_fail(in, RILL_ERR_INPUT, "the input must have 1 to %d days", MAX_DAYS - 1);
    }
    return RILL_OK;
}

static rill_status step(void *self, const rill_rows *rows)
{
    (void)self;
    for (int32_t i = 0; i < rows->n; i++) last_weather[rows->node[i]] = rows->action[i];
    return RILL_OK;
}

static rill_status score(void *self, const rill_rows *rows, const rill_score_request *score_request,
                         rill_score_result *out)
{
    static const int32_t action[] = {RAINY, SUNNY};
    (void)self;
    for (int32_t i = 0; i < rows->n; i++) {
        const float *p = rows->depth[i] == 0 ? first : next[last_weather[rows->node[i]]];
        int activity = activities[rows->slot[i]][rows->depth[i]];
        float logp[] = {logf(p[RAINY] * seen[RAINY][activity]), logf(p[SUNNY] * seen[SUNNY][activity])};
        if (rows->depth[i] == days[rows->slot[i]] - 1) out->ends[i] = RILL_ENDS_LAST;
        rill_score_result_fill(score_request, i, WEATHERS, action, logp, NULL, out);
    }
    return RILL_OK;
}

static rill_status finalize(void *self, const rill_hypothesis *h, rill_text *out)
{
    (void)self;
    for (int32_t i = 0; i < h->length; i++)
        if (rill_text_printf(out, "%s%s", i > 0 ? " " : "", weather_name[h->action[i]]) < 0) return RILL_ERR_MEMORY;
    return RILL_OK;
}

static void close_model(void *self)
{
    (void)self;
}

static const rill_domain weather = {.abi_version = RILL_ABI_VERSION,
                                    .struct_size = sizeof weather,
                                    .name = "weather",
                                    .summary = "a hidden Markov model",
                                    .open = open_model,
                                    .reserve = reserve,
                                    .encode = encode,
                                    .step = step,
                                    .score = score,
                                    .finalize = finalize,
                                    .close = close_model};

int main(int argc, char **argv)
{
    rill_context *ctx = NULL;
    rill_model *model = NULL;
    rill_engine *engine = NULL;
    rill_engine_setup setup;
    rill_open_options options = {.struct_size = sizeof options, .threads = 1};
    rill_engine_setup_default(&setup);
    setup.settings.k = 4;
    setup.settings.n_best = 2;
    rill_status status = rill_context_create(&ctx, NULL);
    if (status == RILL_OK) status = rill_register_core(ctx);
    if (status == RILL_OK) status = rill_register_domain(ctx, &weather);
    if (status == RILL_OK) status = rill_model_open(&model, ctx, "weather", &options);
    if (status == RILL_OK) status = rill_engine_create(&engine, ctx, model, &setup);
    for (int i = 1; status >= 0 && (i < argc || !rill_engine_idle(engine));) {
        for (; status >= 0 && i < argc && rill_engine_free_slots(engine) > 0; i++)
            status = rill_engine_submit(engine, argv[i], strlen(argv[i]));
        if (i == argc) rill_engine_close_input(engine);
        if (status >= 0) status = rill_engine_step(engine);
        const rill_result *result;
        while (rill_engine_next(engine, &result) == RILL_OK) {
            if (result->status < 0) printf("%s: %s\n", argv[result->id + 1], result->message);
            for (int32_t o = 0; o < result->n_outputs; o++)
                printf("%s: %s %.5f\n", argv[result->id + 1], rill_result_output(result, o)->text,
                       exp(rill_result_output(result, o)->path_score));
        }
    }
    if (status < 0) fprintf(stderr, "hello_beam: %s\n", ctx != NULL ? rill_error(ctx) : rill_status_name(status));
    rill_engine_destroy(engine);
    rill_model_close(model);
    rill_context_destroy(ctx);
    return status < 0;
}
