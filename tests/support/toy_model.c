/* See toy_model.h. The shapes a state can have:
 *
 *   one phase, terminal=end    some actions are legal, sometimes RILL_END; at the input's depth only RILL_END
 *   one phase, terminal=last   some actions finish early; at the input's last timestep all finish
 *   several phases             structure phases with two or three choices or a forced one of cost 0, then a label; all
 *                              hypotheses have equal length
 *
 * Continuous log-probabilities are a log-softmax over legal actions; tied ones are multiples of 1/4, whose sums are exact. */
#include "support/toy_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dice.h"

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static int read_word(toy_model *m, const char *key, const char *value)
{
    if (strcmp(key, "state") == 0 && strcmp(value, "path") == 0) return m->path = 1;
    if (strcmp(key, "state") == 0 && strcmp(value, "parent") == 0) return m->path = 0, 1;
    if (strcmp(key, "terminal") == 0 && strcmp(value, "end") == 0) return m->last = 0, 1;
    if (strcmp(key, "terminal") == 0 && strcmp(value, "last") == 0) return m->last = 1;
    if (strcmp(key, "select") == 0 && strcmp(value, "own") == 0) return m->select = TOY_SELECT_OWN, 1;
    if (strcmp(key, "select") == 0 && strcmp(value, "rill") == 0) return m->select = TOY_SELECT_RILL, 1;
    if (strcmp(key, "select") == 0 && strcmp(value, "both") == 0) return m->select = TOY_SELECT_BOTH, 1;
    return 0;
}

static int read_number(toy_model *m, const char *key, const char *value)
{
    const struct {
        const char *key;
        int32_t *field;
    } table[] = {
        {"actions", &m->actions},
        {"depth", &m->depth},
        {"phases", &m->phases},
        {"ties", &m->ties},
        {"early", &m->early},
        {"ending", &m->ending},
        {"legal", &m->legal},
        {"dead_ends", &m->dead_ends},
        {"mask", &m->max_choices_phases},
        {"bound", &m->max_length},
        {"own_bound", &m->own_max_length},
        {"dead", &m->dead},
        {"trivial", &m->trivial},
        {"mixed", &m->mixed},
        {"normal", &m->normal},
        {"fail_encode", &m->fail_encode},
        {"fail_step", &m->fail_step},
        {"fail_score", &m->fail_score},
        {"fail_open", &m->fail_open},
        {"fail_finalize", &m->fail_finalize},
        {"garble", &m->garble},
        {"garble_kind", &m->garble_kind},
        {"spare", &m->spare},
        {"listed", &m->listed},
        {"apart", &m->finalize_anywhere},
        {"blur", &m->blur},
        {"forbid", &m->forbid},
    };
    char *end = NULL;
    if (strcmp(key, "seed") == 0) m->seed = strtoll(value, &end, 10);
    if (strcmp(key, "flat") == 0) m->logit_scale = strtod(value, &end);
    for (size_t i = 0; i < sizeof table / sizeof *table && end == NULL; i++)
        if (strcmp(key, table[i].key) == 0) *table[i].field = (int32_t)strtol(value, &end, 10);
    return end != NULL && end != value && *end == '\0';
}

rill_status toy_model_parse(toy_model *model, const char *arguments, char *message, size_t size)
{
    *model = (toy_model){
        .actions = 5, .depth = 5, .phases = 1, .path = 1, .ending = 40, .legal = 70, .logit_scale = 1.0};
    const char *pos = arguments != NULL ? arguments : "";
    while (*(pos += strspn(pos, " ")) != '\0') {
        char key[32] = "", value[32] = "";
        size_t length = strcspn(pos, " ");
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)length, pos);
        pos += length;
        if (sscanf(word, "%31[^=]=%31s", key, value) != 2 ||
            (!read_word(model, key, value) && !read_number(model, key, value))) {
            snprintf(message, size, "toy: \"%s\" is not an argument it knows", word);
            return RILL_ERR_OPTION;
        }
    }
    int structure = model->phases > 1;
    if (model->actions < (structure ? 4 : 2) || model->actions > TOY_MAX_ACTIONS || model->depth < 1 ||
        model->phases < 1 || model->phases > 8 || model->spare < 0 || model->spare > TOY_MAX_SPARE) {
        snprintf(message, size, "toy: %d actions, depth %d and %d phases are not a toy", (int)model->actions,
                 (int)model->depth, (int)model->phases);
        return RILL_ERR_OPTION;
    }
    if (structure) model->last = 1;
    return RILL_OK;
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

toy_input toy_input_read(const toy_model *model, const char *text, size_t length)
{
    uint64_t hash = dice_mix((uint64_t)model->seed, length);
    for (size_t i = 0; i < length; i++) hash = dice_mix(hash, (unsigned char)text[i]);
    toy_input input = {.start = hash, .depth = 1 + (int32_t)(dice_mix(hash, 11) % (uint64_t)model->depth)};
    if (length >= 4 && memcmp(text, "!bad", 4) == 0) input.status = RILL_ERR_INPUT;
    if (length >= 5 && memcmp(text, "!dead", 5) == 0) input.dead = 1;
    return input;
}

uint64_t toy_extend(uint64_t state, int32_t action)
{
    return dice_mix(state, (uint64_t)(action + 17));
}

int32_t toy_end_action(const toy_model *model)
{
    /* The end action is at a pseudo-random place among the actions, so that no code can rely on its being the first or the last. */
    return model->last ? -1 : (int32_t)(dice_mix((uint64_t)model->seed, 5) % (uint64_t)model->actions);
}

int32_t toy_forbidden_count(const toy_model *model)
{
    return model->forbid == 0 ? 0 : 1 + model->forbid % TOY_MAX_FORBIDDEN;
}

int32_t toy_forbidden(const toy_model *model, int32_t i, int32_t action[TOY_MAX_FORBIDDEN_LENGTH])
{
    const uint64_t hash = dice_mix((uint64_t)model->forbid, (uint64_t)i);
    const int32_t n = hash % 8 == 0 ? 1 : hash % 8 < 6 ? 2 : TOY_MAX_FORBIDDEN_LENGTH;
    for (int32_t j = 0; j < n; j++) action[j] = (int32_t)(dice_mix(hash, (uint64_t)j) % (uint64_t)model->actions);
    return n;
}

/* --- legal actions ------------------------------------------------------------------------------------------------ */

static int below(uint64_t state, uint64_t what, int32_t percent)
{
    return (int32_t)(dice_mix(state, what) % 100) < percent;
}

static int32_t add(toy_choice *out, int32_t n, int32_t action, rill_terminal terminal)
{
    out[n] = (toy_choice){.action = action, .terminal = terminal};
    return n + 1;
}

/* Structure phases have two or three actions, often with only one legal. */
static int32_t list_structure(uint64_t state, toy_choice *out)
{
    int32_t n = 0, forced = (int32_t)(dice_mix(state, 3) % 6);
    for (int32_t a = 0; a < 3; a++)
        if (forced >= 3 || forced == a) n = add(out, n, a, RILL_LIVE);
    return n;
}

static int32_t list_actions(const toy_model *m, const toy_input *input, uint64_t state, int32_t depth, toy_choice *out)
{
    int32_t n = 0, end = toy_end_action(m);
    int over = depth >= input->depth; /* only with terminal=end can the depth be exceeded */
    int final = depth == input->depth - 1;
    for (int32_t a = 0; a < m->actions; a++) {
        uint64_t h = dice_mix(state, 100 + (uint64_t)a);
        if (a == end) {
            if (over || below(h, 1, m->ending)) n = add(out, n, a, RILL_END);
        } else if (!over && below(h, 2, m->legal)) {
            int finishes = m->last && (final || (m->phases == 1 && below(h, 4, m->early)));
            n = add(out, n, a, finishes ? RILL_LAST : RILL_LIVE);
        }
    }
    return n;
}

int32_t toy_expand(const toy_model *m, const toy_input *input, uint64_t state, int32_t depth, int32_t phase,
                   toy_choice *out)
{
    int structure = phase < m->phases - 1;
    if (input->dead || (m->last && depth >= input->depth)) return 0;
    if (!structure && below(state, 6, m->dead_ends)) return 0;
    int32_t n = structure ? list_structure(state, out) : list_actions(m, input, state, depth, out);
    if (n == 0 && m->dead_ends == 0) { /* an input without dead ends always has a legal action */
        int32_t a = m->last ? (int32_t)(state % (uint64_t)m->actions) : toy_end_action(m);
        n = add(out, 0, a, !m->last ? RILL_END : depth == input->depth - 1 ? RILL_LAST : RILL_LIVE);
    }
    if (structure && n == 1) return 1; /* a single legal action has log-probability 0 */
    double logits[TOY_MAX_ACTIONS], sum = 0;
    for (int32_t i = 0; i < n; i++) {
        uint64_t h = dice_mix(state, 1000 + (uint64_t)out[i].action);
        logits[i] = m->logit_scale * (6 * dice_unit(h) - 3);
        sum += exp(logits[i]);
        out[i].logp = m->ties > 0 ? -0.25f * (float)(1 + h % (uint64_t)m->ties) : 0;
    }
    for (int32_t i = 0; i < n && m->ties == 0; i++) out[i].logp = (float)(logits[i] - log(sum));
    if (m->ties == 0 || !m->normal) return n;
    double total = 0;
    for (int32_t i = 0; i < n; i++) total += exp((double)out[i].logp);
    for (int32_t i = 0; i < n; i++) out[i].logp = fminf((float)((double)out[i].logp - log(total)), 0);
    return n;
}
