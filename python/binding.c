/* Function bodies of binding.h. */
#include <stdlib.h>
#include <string.h>

static rill_status heuristic_self(const rill_heuristic *table, rill_context *ctx, const char *arguments, void **self)
{
    if (arguments[0] != '\0') return rill_fail(ctx, RILL_ERR_OPTION, "a heuristic in Python takes no arguments");
    *self = ((const rillpy_heuristic *)table)->handle;
    return RILL_OK;
}

static rill_status scorer_self(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    if (arguments[0] != '\0') return rill_fail(ctx, RILL_ERR_OPTION, "a scorer in Python takes no arguments");
    *self = ((const rillpy_scorer *)table)->handle;
    return RILL_OK;
}

static rill_status scheduler_self(const rill_scheduler *table, rill_context *ctx, const char *arguments, void **self)
{
    if (arguments[0] != '\0') return rill_fail(ctx, RILL_ERR_OPTION, "a scheduler in Python takes no arguments");
    *self = ((const rillpy_scheduler *)table)->handle;
    return RILL_OK;
}

void rillpy_heuristic_init(rillpy_heuristic *out, void *handle)
{
    out->table.create = heuristic_self;
    out->handle = handle;
}

void rillpy_scorer_init(rillpy_scorer *out, void *handle)
{
    out->table.create = scorer_self;
    out->handle = handle;
}

void rillpy_scheduler_init(rillpy_scheduler *out, void *handle)
{
    out->table.create = scheduler_self;
    out->handle = handle;
}

void *rillpy_domain_handle(const rill_domain *table)
{
    return ((const rillpy_domain *)table)->handle;
}

rill_status rillpy_fail(rill_context *ctx, rill_status status, const char *text)
{
    return rill_fail(ctx, status, "%s", text);
}

void rillpy_input_fail(rill_input *input, const char *text)
{
    rill_input_fail(input, RILL_ERR_INPUT, "%s", text);
}

int32_t rillpy_path(const rill_scorer_rows *rows, int32_t row, int32_t *out, int32_t capacity)
{
    int32_t n = 0;
    for (int32_t h = rows->hyp_node[row]; rows->hyp_nodes[h].action >= 0; h = rows->hyp_nodes[h].parent) n++;
    int32_t at = n;
    for (int32_t h = rows->hyp_node[row]; rows->hyp_nodes[h].action >= 0; h = rows->hyp_nodes[h].parent)
        if (--at < capacity) out[at] = rows->hyp_nodes[h].action;
    return n;
}

rill_status rillpy_modify(rill_modifiers *modifiers, int32_t what, int32_t n, const int32_t *row, const int32_t *action,
                          const float *value)
{
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < n && status == RILL_OK; i++) {
        switch (what) {
        case 0: status = rill_modifiers_add(modifiers, row[i], action[i], value[i]); break;
        case 1: status = rill_modifiers_scale(modifiers, row[i], action[i], value[i]); break;
        case 2: status = rill_modifiers_ban(modifiers, row[i], action[i]); break;
        default: status = rill_modifiers_allow(modifiers, row[i], action[i]); break;
        }
    }
    return status;
}

rill_status rillpy_names(const rill_model *model, int32_t n, const int32_t *action, int32_t *length, rill_text *out)
{
    const int named = rill_model_domain(model)->action_name != NULL;
    for (int32_t i = 0; i < n; i++) {
        const size_t before = out->length;
        rill_status status = named ? rill_model_action_name(model, action[i], out) : RILL_ERR_NOT_FOUND;
        if (status != RILL_OK) {
            out->length = before;
            status = rill_text_printf(out, "%d", action[i]);
        }
        if (status != RILL_OK) return status;
        length[i] = (int32_t)(out->length - before);
    }
    return RILL_OK;
}

void rillpy_fill_choices(const rill_score_request *request, int32_t n, int32_t actions, const int32_t *every,
                         const float *logp, rill_score_result *out)
{
    for (int32_t r = 0; r < n; r++)
        rill_score_result_fill(request, r, actions, every, logp + (size_t)r * (size_t)actions, NULL, out);
}

/* --- prefixes of outputs ------------------------------------------------------------------------------------------ */

typedef struct prefix_action {
    int32_t action;
    float bias;
} prefix_action;

typedef struct prefix {
    rill_context *ctx;
    size_t size; /* bytes allocated for this struct and its actions */
    float share; /* number added to the scores of all choices of a row */
    int32_t n;
    prefix_action actions[]; /* [n] the actions in order, each with its bias */
} prefix;

/* The value of prefix_action.action that stands for "|", which ends a sequence. */
enum { SEQUENCE_END = -1 };

/* Parse "ACTION ACTION ...", or "SHARE ACTION:BIAS ..." with biases, or "ACTION ... | ACTION ..." for several sequences. */
static rill_status prefix_create(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    const int biased = strcmp(table->name, "python-bias") == 0, several = strcmp(table->name, "python-ban") == 0;
    const size_t size = sizeof(prefix) + (strlen(arguments) + 1) * sizeof(prefix_action);
    prefix *p = rill_alloc(ctx, size);
    if (p == NULL) return rill_fail_memory(ctx, size, "a prefix");
    *p = (prefix){.ctx = ctx, .size = size};
    char *end = (char *)arguments;
    if (biased) p->share = (float)rill_read_number(arguments, &end);
    for (arguments = end; *(arguments += strspn(arguments, " ")) != '\0'; arguments = end) {
        prefix_action *one = &p->actions[p->n++];
        if (several && *arguments == '|') {
            one->action = SEQUENCE_END;
            end = (char *)arguments + 1;
            continue;
        }
        const long action = strtol(arguments, &end, 10);
        if (action < 0 || action > INT32_MAX) end = (char *)arguments;
        *one = (prefix_action){.action = (int32_t)action};
        if (end != arguments && biased && *end == ':') one->bias = (float)rill_read_number(end + 1, &end);
        if (end != arguments) continue;
        rill_free(ctx, p, size);
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: \"%.40s\" is not the number of an action", table->name, arguments);
    }
    *self = p;
    return RILL_OK;
}

static void prefix_destroy(void *self)
{
    prefix *p = self;
    if (p != NULL) rill_free(p->ctx, p, p->size);
}

/* A factor that makes the score of a forced action negligible. A factor of 0 is not allowed. */
static const float ALMOST_ZERO = 1e-30f;

static rill_status prefix_score(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    const prefix *p = self;
    rill_status status = RILL_OK;
    for (int32_t row = 0; row < rows->n && status == RILL_OK; row++) {
        if (rows->timestep[row] >= p->n) continue;
        const int32_t action = p->actions[rows->timestep[row]].action;
        status = rill_modifiers_allow(modifiers, row, action);
        if (status == RILL_OK) status = rill_modifiers_scale(modifiers, row, action, ALMOST_ZERO);
        if (status == RILL_OK) status = rill_modifiers_end_rule(modifiers, row, RILL_END_FORBIDDEN);
    }
    return status;
}

const rill_scorer *rillpy_prefix(void)
{
    static const rill_scorer table = {.abi_version = RILL_ABI_VERSION,
                                      .struct_size = sizeof table,
                                      .name = "python-prefix",
                                      .arguments = "ACTIONS",
                                      .summary = "outputs begin with these actions, which no score has",
                                      .create = prefix_create,
                                      .score = prefix_score,
                                      .destroy = prefix_destroy};
    return &table;
}

/* Whether the row's hypothesis is a prefix of p->actions. */
static int follows(const prefix *p, const rill_scorer_rows *rows, int32_t row)
{
    int32_t h = rows->hyp_node[row];
    for (int32_t t = rows->timestep[row]; t-- > 0; h = rows->hyp_nodes[h].parent)
        if (rows->hyp_nodes[h].action != p->actions[t].action) return 0;
    return 1;
}

static rill_status bias_score(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    const prefix *p = self;
    rill_status status = RILL_OK;
    for (int32_t row = 0; row < rows->n && status == RILL_OK; row++) {
        if (rows->timestep[row] >= p->n || !follows(p, rows, row)) continue;
        const prefix_action *one = &p->actions[rows->timestep[row]];
        status = rill_modifiers_reward(modifiers, row, p->share);
        if (status == RILL_OK) status = rill_modifiers_end_reward(modifiers, row, p->share);
        if (status == RILL_OK) status = rill_modifiers_add(modifiers, row, one->action, one->bias);
    }
    return status;
}

const rill_scorer *rillpy_bias(void)
{
    static const rill_scorer table = {.abi_version = RILL_ABI_VERSION,
                                      .struct_size = sizeof table,
                                      .name = "python-bias",
                                      .arguments = "SHARE ACTION:BIAS ...",
                                      .summary = "outputs that follow these actions have others by so much less",
                                      .create = prefix_create,
                                      .score = bias_score,
                                      .destroy = prefix_destroy};
    return &table;
}

/* Whether the row's hypothesis ends with the n actions. The start symbol comes before a hypothesis's first action. */
static int ends_with(const rill_scorer_rows *rows, int32_t row, const prefix_action *actions, int32_t n)
{
    int32_t h = rows->hyp_node[row];
    for (; n > 0 && rows->hyp_nodes[h].parent >= 0; n--, h = rows->hyp_nodes[h].parent)
        if (rows->hyp_nodes[h].action != actions[n - 1].action) return 0;
    return n == 0 || (n == 1 && actions[0].action == rows->info->start_action);
}

static rill_status ban_score(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    const prefix *p = self;
    const int32_t not_banned = p->n > 0 && p->actions[0].action == SEQUENCE_END;
    rill_status status = RILL_OK;
    for (int32_t first = 0, last; first < p->n; first = last + 1) {
        for (last = first; last < p->n && p->actions[last].action != SEQUENCE_END;) last++;
        for (int32_t row = 0; row < rows->n && last > first && status == RILL_OK; row++)
            if (rows->timestep[row] >= not_banned && ends_with(rows, row, &p->actions[first], last - 1 - first))
                status = rill_modifiers_ban(modifiers, row, p->actions[last - 1].action);
    }
    return status;
}

const rill_scorer *rillpy_ban(void)
{
    static const rill_scorer table = {.abi_version = RILL_ABI_VERSION,
                                      .struct_size = sizeof table,
                                      .name = "python-ban",
                                      .arguments = "ACTIONS | ACTIONS ...",
                                      .summary = "outputs contain none of these sequences of actions",
                                      .create = prefix_create,
                                      .score = ban_score,
                                      .destroy = prefix_destroy};
    return &table;
}
