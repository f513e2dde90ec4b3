/* Selection; select.h says what it is for.
 *
 * Why an answer suffices. Bans strike at most as many of a row's best as there are bans, additions move only the actions they
 * name, and an end rule or a reward moves no action past others but the end action. So the model's best M + bans +
 * additions + 1 have among them all that can be chosen, but for actions that may be lifted from behind them: an action with an
 * addition, and the end action. Of these the log-probability is asked for (a pick). What may be chosen at all is a short
 * list, whose every action is picked, or a set of actions, which the row's best are to come from; a long list of bans is
 * such a set too. Sets are told from each other by content: many rows share few.
 * Where any number of them may end and the domain alone knows which, everything is asked for. (Not where there are merely few:
 * the best 197 of 197 cost a semantic parser more than its network does.)
 *
 * Each row is asked for what it needs and judged by no more, so its answer does not depend on the others of the call. (One limit,
 * where not everything is asked for: a reward so large that rounding makes scores equal which were not can hide a smaller
 * action that the model ranks later.)
 *
 * Arithmetic of a score, the same wherever an action comes from: logp, plus its addition, plus the row's reward, in float.
 *
 * Divisions: memory · a row's rules · asking · sets · checking · choosing · the call. */
#include "select.h"

#include <float.h>

enum {
    SHORT_LIST = 32,       /* allowed actions that are picked rather than made a set; bans that are not made one */
    PART_CHOICES = 1 << 21 /* of a part of a call in which everything is asked for: 18 MB */
};

/* --- memory ------------------------------------------------------------------------------------------------------- */

enum {
    COUNT,
    ACTION,
    LOGP,
    SCORE,
    TERMINAL,
    RAW_COUNT,
    RAW_ACTION,
    RAW_LOGP,
    RAW_TERMINAL,
    ENDS,
    WANTED,
    PICK_ROW,
    PICK_ACTION,
    PICK_LOGP,
    PICK_FROM,
    LEGAL,
    LEGAL_SET,
    PLACES
};

void selector_init(selector *s, rill_context *ctx, const rill_domain_info *info)
{
    *s = (selector){.ctx = ctx, .info = info};
}

void selector_finish(selector *s)
{
    for (int i = 0; i < SELECT_ARRAYS; i++) rill_free(s->ctx, s->array[i].data, s->array[i].bytes);
    *s = (selector){0};
}

/* Room for n elements as array `which`; NULL after rill_fail_memory(). */
static void *make(selector *s, int which, size_t n, size_t size)
{
    select_array *a = &s->array[which];
    size_t need = (n > 0 ? n : 1) * size, wanted = need + need / 2;
    if (need <= a->bytes) return a->data;
    rill_free(s->ctx, a->data, a->bytes);
    a->bytes = 0;
    a->data = rill_alloc(s->ctx, wanted);
    if (a->data == NULL)
        rill_fail_memory(s->ctx, wanted, "choices");
    else
        a->bytes = wanted;
    return a->data;
}

#define MAKE(s, which, n, out) \
    ((*(out) = make((s), (which), (size_t)(n), sizeof **(out))) != NULL ? RILL_OK : RILL_ERR_MEMORY)

/* --- a row's rules ------------------------------------------------------------------------------------------------ */

/* Entries of one row in a sorted, compressed list. */
typedef struct span {
    const int32_t *action;
    int32_t n;
} span;

static span row_span(const int32_t *offset, const int32_t *action, int32_t row)
{
    if (offset == NULL) return (span){NULL, 0};
    return (span){action + offset[row], offset[row + 1] - offset[row]};
}

/* Index of `action` in a sorted span, or -1. */
static int32_t span_find(span s, int32_t action)
{
    int32_t low = 0, high = s.n;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (s.action[middle] < action)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s.n && s.action[low] == action ? low : -1;
}

typedef struct row_rules {
    int32_t most;
    span bans, allowed, added;
    const float *add_score;
    float reward, end_reward;
    uint8_t end_rule; /* bits of rill_end_rule */
} row_rules;

static int32_t most_of(const ask_rules *a, int32_t row)
{
    return a->limit != NULL && a->limit[row] < a->max_choices ? a->limit[row] : a->max_choices;
}

static row_rules rules_of(const ask_rules *a, int32_t row)
{
    return (row_rules){.most = most_of(a, row),
                       .bans = row_span(a->ban_offset, a->ban_action, row),
                       .allowed = row_span(a->allow_offset, a->allow_action, row),
                       .added = row_span(a->add_offset, a->add_action, row),
                       .add_score = a->add_offset != NULL ? a->add_score + a->add_offset[row] : NULL,
                       .reward = a->reward != NULL ? a->reward[row] : 0,
                       .end_reward = a->end_reward != NULL ? a->end_reward[row] : 0,
                       .end_rule = a->end_rule != NULL ? a->end_rule[row] : RILL_END_ALLOWED};
}

/* The row's few allowed actions are picked; of the others it needs nothing. */
static int all_picked(const row_rules *r)
{
    return r->allowed.n > 0 && r->allowed.n <= SHORT_LIST;
}

static int has_set(const row_rules *r)
{
    return r->allowed.n > SHORT_LIST || (r->bans.n > SHORT_LIST && !all_picked(r));
}

/* The end action may be struck from a row's best, or pass others. */
static int moves_end(const selector *s, const row_rules *r)
{
    return s->info->end_action >= 0 && (r->reward != 0 || r->end_reward != 0 || r->end_rule != RILL_END_ALLOWED);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

static int32_t wanted_of(const selector *s, const row_rules *r)
{
    if (all_picked(r)) return 0;
    int64_t need = (int64_t)r->most + (has_set(r) ? 0 : r->bans.n) + r->added.n + moves_end(s, r);
    return need < s->info->actions ? (int32_t)need : s->info->actions;
}

/* Write the row's picks to `out`, ascending, or count them only where it is NULL. */
static int32_t list_picks(const selector *s, const row_rules *r, int32_t *out)
{
    span named = all_picked(r) ? r->allowed : r->added;
    int32_t n = 0, end = moves_end(s, r) && !all_picked(r) ? s->info->end_action : RILL_NO_ACTION;
    for (int32_t i = 0; i <= named.n; i++) {
        int32_t next = i < named.n ? named.action[i] : INT32_MAX;
        if (end >= 0 && end < next) {
            if (out != NULL) out[n] = end;
            n++;
        }
        if (end <= next) end = RILL_NO_ACTION;
        if (next < 0 || next == INT32_MAX) continue; /* nothing is allowed; the list is at its end */
        if (out != NULL) out[n] = next;
        n++;
    }
    return n;
}

static rill_status make_picks(selector *s)
{
    int32_t n = 0, *row, *action;
    RILL__TRY(MAKE(s, PICK_FROM, (size_t)s->n + 1, &s->pick_from));
    for (int32_t r = 0; r < s->n; r++) {
        row_rules rules = rules_of(s->rules, r);
        s->pick_from[r] = n;
        n += list_picks(s, &rules, NULL);
    }
    s->pick_from[s->n] = n;
    RILL__TRY(MAKE(s, PICK_ROW, n, &row));
    RILL__TRY(MAKE(s, PICK_ACTION, n, &action));
    RILL__TRY(MAKE(s, PICK_LOGP, n, &s->raw.pick_logp));
    for (int32_t r = 0; r < s->n; r++) {
        row_rules rules = rules_of(s->rules, r);
        list_picks(s, &rules, action + s->pick_from[r]);
        for (int32_t i = s->pick_from[r]; i < s->pick_from[r + 1]; i++) row[i] = r;
    }
    s->ask.n_picks = n;
    s->ask.pick_row = row;
    s->ask.pick_action = action;
    return RILL_OK;
}

static rill_status make_wanted(selector *s)
{
    int32_t *wanted;
    RILL__TRY(MAKE(s, WANTED, s->n, &wanted));
    s->ask.wanted = wanted;
    for (int32_t r = 0; r < s->n; r++) {
        row_rules rules = rules_of(s->rules, r);
        wanted[r] = s->rules->plain ? rules.most : wanted_of(s, &rules);
        if (wanted[r] > s->ask.most) s->ask.most = wanted[r];
    }
    return RILL_OK;
}

/* --- sets --------------------------------------------------------------------------------------------------------- */

static void set_bit(uint64_t *set, int32_t action, int on)
{
    uint64_t bit = UINT64_C(1) << (action % 64);
    set[action / 64] = on ? set[action / 64] | bit : set[action / 64] & ~bit;
}

/* What the row may choose: what it is allowed, or all, of what is ever legal, less what is banned. */
static void write_set(const selector *s, const row_rules *r, uint64_t *set)
{
    size_t words = s->ask.legal_words;
    memset(set, r->allowed.n > 0 ? 0 : 0xFF, words * sizeof *set);
    for (int32_t i = 0; i < r->allowed.n; i++) set_bit(set, r->allowed.action[i], 1);
    for (size_t w = 0; w < words && s->info->legal != NULL; w++) set[w] &= s->info->legal[w];
    for (int32_t i = 0; i < r->bans.n; i++) set_bit(set, r->bans.action[i], 0);
}

static size_t hash_set(const uint64_t *set, size_t words)
{
    uint64_t hash = 0;
    for (size_t w = 0; w < words; w++) hash = (hash ^ set[w] ^ hash >> 29) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> 32);
}

/* The number of the set that stands behind those there are: it stays only if it is new. `place` is an open-addressed table of
 * `room` (a power of two) numbers, -1 where there is none. */
static int32_t number_set(selector *s, const uint64_t *sets, int32_t *place, size_t room)
{
    size_t words = s->ask.legal_words, at = hash_set(sets + (size_t)s->n_sets * words, words) & (room - 1);
    for (; place[at] >= 0; at = (at + 1) & (room - 1))
        if (memcmp(sets + (size_t)place[at] * words, sets + (size_t)s->n_sets * words, words * sizeof *sets) == 0)
            return place[at];
    return place[at] = s->n_sets++;
}

static rill_status make_sets(selector *s)
{
    int32_t most = 0, *place, *of;
    uint64_t *sets;
    size_t room = 4, words = s->ask.legal_words;
    for (int32_t r = 0; r < s->n; r++) {
        row_rules rules = rules_of(s->rules, r);
        most += has_set(&rules);
    }
    if (most == 0) return RILL_OK;
    while (room < 2 * ((size_t)most + 1)) room *= 2;
    RILL__TRY(MAKE(s, LEGAL, ((size_t)most + 1) * words, &sets));
    RILL__TRY(MAKE(s, LEGAL_SET, s->n, &of));
    RILL__TRY(MAKE(s, PLACES, room, &place));
    memset(place, 0xFF, room * sizeof *place);
    s->n_sets = 0;
    int32_t other = -1; /* of a row that may choose all it has */
    if (s->info->legal != NULL) {
        memcpy(sets, s->info->legal, words * sizeof *sets);
        other = number_set(s, sets, place, room);
    }
    for (int32_t r = 0; r < s->n; r++) {
        row_rules rules = rules_of(s->rules, r);
        of[r] = other;
        if (!has_set(&rules)) continue;
        write_set(s, &rules, sets + (size_t)s->n_sets * words);
        of[r] = number_set(s, sets, place, room);
    }
    s->ask.legal = sets;
    s->ask.legal_set = of;
    return RILL_OK;
}

/* --- checking ----------------------------------------------------------------------------------------------------- */

static rill_terminal kind_of(const selector *s, uint8_t ends, int32_t action)
{
    if (ends == RILL_ENDS_LAST) return RILL_LAST;
    return action == s->info->end_action ? RILL_END : RILL_LIVE;
}

static int found(selector *s, int32_t row, const char *wrong)
{
    if (s->wrong == NULL) s->bad = row;
    if (s->wrong == NULL) s->wrong = wrong;
    return 0;
}

/* Check choice i of row r of the answer, and fill in how it ends; 0 when there is none. Merging relies on order and on finite
 * scores; a domain that gives neither must not corrupt a beam silently. */
static inline int read_choice(selector *s, int32_t r, int32_t i)
{
    const rill_choices *raw = &s->raw;
    const size_t at = (size_t)r * (size_t)raw->stride + (size_t)i;
    const int32_t action = raw->action[at];
    const float logp = raw->logp[at], before = i > 0 ? raw->logp[at - 1] : FLT_MAX; /* it is finite, or dead */
    const uint8_t ends = raw->ends[r];
    if (!(logp <= before)) return found(s, r, "not numbers in order");
    if (logp == (float)RILL_SCORE_DEAD) return 0;
    if ((uint32_t)action >= (uint32_t)s->info->actions) return found(s, r, "unknown actions");
    if (logp == before && i > 0 && action <= raw->action[at - 1])
        return found(s, r, "equal, but not in order of action");
    if (ends != RILL_ENDS_AS_TOLD) raw->terminal[at] = (uint8_t)kind_of(s, ends, action);
    if (raw->terminal[at] > RILL_LAST) return found(s, r, "not of a known terminal kind");
    if (!s->last && raw->terminal[at] != RILL_LIVE) return found(s, r, "terminal before the last phase");
    return 1;
}

int selector_read(selector *s, int32_t row, int32_t i)
{
    if (read_choice(s, row, i)) return 1;
    s->choices.count[row] = i; /* dead ones come last: none behind it can be chosen */
    return 0;
}

static int check_row(selector *s, int32_t r)
{
    const rill_choices *raw = &s->raw;
    if (raw->count[r] < 0 || raw->count[r] > s->ask.most) return found(s, r, "more than were asked for");
    if (raw->ends[r] > RILL_ENDS_AS_TOLD || (raw->ends[r] == RILL_ENDS_AS_TOLD && !s->info->terminals_told))
        return found(s, r, "said to end in a way that the domain's info does not tell of");
    return 1;
}

/* All of row r of a part. */
static void read_row(selector *s, int32_t r)
{
    int32_t i = 0;
    if (!check_row(s, r)) return;
    while (i < s->raw.count[r] && read_choice(s, r, i)) i++;
    s->raw.count[r] = i;
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */

/* Put a choice in its place among the row's best; the last one falls off when there are as many as may be. */
static void insert(choice_table *c, int32_t row, int32_t most, int32_t action, float logp, float score,
                   rill_terminal terminal)
{
    int32_t *count = &c->count[row], at = *count;
    size_t base = (size_t)row * (size_t)c->stride;
    for (; at > 0; at--) {
        size_t before = base + (size_t)at - 1;
        if (c->score[before] > score || (c->score[before] == score && c->action[before] < action)) break;
    }
    if (at >= most) return;
    if (*count < most) (*count)++;
    for (size_t i = base + (size_t)*count - 1; i > base + (size_t)at; i--) {
        c->action[i] = c->action[i - 1];
        c->logp[i] = c->logp[i - 1];
        c->score[i] = c->score[i - 1];
        c->terminal[i] = c->terminal[i - 1];
    }
    c->action[base + (size_t)at] = action;
    c->logp[base + (size_t)at] = logp;
    c->score[base + (size_t)at] = score;
    c->terminal[base + (size_t)at] = (uint8_t)terminal;
}

/* Judge one action and take it in if it passes. */
static void consider(selector *s, const row_rules *r, int32_t row, int32_t action, float logp, rill_terminal terminal)
{
    if (!(logp > RILL_SCORE_DEAD)) return; /* also NaN */
    if (span_find(r->bans, action) >= 0) return;
    if (r->allowed.n > 0 && span_find(r->allowed, action) < 0) return;
    if ((r->end_rule & RILL_END_FORBIDDEN) && terminal != RILL_LIVE) return;
    if ((r->end_rule & RILL_END_REQUIRED) && terminal == RILL_LIVE) return;
    if ((r->end_rule & RILL_END_NOT_YET) && terminal == RILL_END) return;
    float score = logp;
    int32_t addition = span_find(r->added, action);
    if (addition >= 0) score += r->add_score[addition];
    score += terminal == RILL_END ? r->end_reward : r->reward;
    if (!(score > RILL_SCORE_DEAD)) return;
    insert(&s->choices, row, r->most, action, logp, score, terminal);
}

/* Choose for row `row`, which is row r of its part: among its raw choices, and the picks wherever the model ranks them. */
static void choose(selector *s, int32_t row, int32_t r)
{
    const rill_choices *raw = &s->raw;
    row_rules rules = rules_of(s->rules, row);
    size_t base = (size_t)r * (size_t)raw->stride;
    int32_t n = raw->count[r];
    span picks = {NULL, 0};
    if (!s->whole) {
        if (s->ask.wanted[row] < n) n = s->ask.wanted[row];
        picks = row_span(s->pick_from, s->ask.pick_action, row);
    }
    s->choices.count[row] = 0;
    for (int32_t i = 0; i < n; i++)
        if (span_find(picks, raw->action[base + (size_t)i]) < 0)
            consider(s, &rules, row, raw->action[base + (size_t)i], raw->logp[base + (size_t)i],
                     (rill_terminal)raw->terminal[base + (size_t)i]);
    for (int32_t i = 0; i < picks.n; i++)
        consider(s, &rules, row, picks.action[i], raw->pick_logp[s->pick_from[row] + i],
                 kind_of(s, raw->ends[r], picks.action[i]));
}

/* --- the call ----------------------------------------------------------------------------------------------------- */

static rill_status make_choices(selector *s)
{
    choice_table *c = &s->choices;
    size_t n = (size_t)s->n, entries = n * (size_t)s->rules->max_choices;
    c->stride = s->rules->max_choices;
    RILL__TRY(MAKE(s, COUNT, n, &c->count));
    RILL__TRY(MAKE(s, ACTION, entries, &c->action));
    RILL__TRY(MAKE(s, LOGP, entries, &c->logp));
    RILL__TRY(MAKE(s, TERMINAL, entries, &c->terminal));
    c->score = c->logp;
    return s->rules->plain ? RILL_OK : MAKE(s, SCORE, entries, &c->score);
}

static int32_t part_rows(const selector *s)
{
    int32_t rows = s->whole ? PART_CHOICES / s->ask.most : s->n;
    return rows < 1 ? 1 : rows < s->n ? rows : s->n;
}

static rill_status make_raw(selector *s)
{
    rill_choices *raw = &s->raw;
    size_t rows = (size_t)part_rows(s), entries = rows * (size_t)s->ask.most;
    raw->stride = s->ask.most;
    RILL__TRY(MAKE(s, RAW_COUNT, rows, &raw->count));
    RILL__TRY(MAKE(s, RAW_ACTION, entries, &raw->action));
    RILL__TRY(MAKE(s, RAW_LOGP, entries, &raw->logp));
    return MAKE(s, RAW_TERMINAL, entries, &raw->terminal);
}

/* Without rules the raw choices are the choices. */
static rill_status ask_plainly(selector *s)
{
    const choice_table *c = &s->choices;
    s->ask.most = c->stride;
    s->raw = (rill_choices){c->stride, c->count, c->action, c->logp, s->raw.ends, c->terminal, NULL};
    return s->rules->limit != NULL ? make_wanted(s) : RILL_OK;
}

rill_status selector_ask(selector *s, const ask_rules *rules, int32_t n)
{
    const rill_domain_info *info = s->info;
    s->rules = rules;
    s->n = n;
    s->whole = 0;
    s->ask = (rill_ask){.legal_words = ((size_t)info->actions + 63) / 64};
    RILL__TRY(MAKE(s, ENDS, n, &s->raw.ends));
    RILL__TRY(make_choices(s));
    if (rules->plain) return ask_plainly(s);
    s->whole = info->terminals_told;
    if (s->whole) {
        s->ask.most = info->actions;
        return make_raw(s);
    }
    RILL__TRY(make_wanted(s));
    RILL__TRY(make_sets(s));
    RILL__TRY(make_picks(s));
    return make_raw(s);
}

int32_t selector_part(selector *s, int32_t from, rill_ask *ask, rill_choices *out)
{
    int32_t left = s->n - from, most = part_rows(s), n = left < most ? left : most;
    memset(s->raw.ends, RILL_ENDS_BY_ACTION, (size_t)n);
    *ask = s->ask;
    *out = s->raw;
    return n;
}

/* Without rules the raw choices are the choices: how many there are is all that must be known now. */
static const char *take_plainly(selector *s)
{
    s->unread = !s->thorough;
    for (int32_t r = 0; r < s->n && s->wrong == NULL; r++) {
        int32_t *count = &s->choices.count[r], most = most_of(s->rules, r);
        if (s->thorough)
            read_row(s, r);
        else
            check_row(s, r);
        if (*count > most) *count = most;
    }
    return s->wrong;
}

const char *selector_take(selector *s, int32_t from, int32_t n, int last)
{
    s->last = last;
    s->wrong = NULL;
    s->unread = 0;
    if (s->rules->plain) return take_plainly(s);
    for (int32_t r = 0; r < n; r++) {
        read_row(s, r);
        s->bad = from + r;
        if (s->wrong != NULL) break;
        choose(s, from + r, r);
        size_t first = (size_t)(from + r) * (size_t)s->choices.stride;
        if (s->choices.count[from + r] > 0 && s->choices.score[first] > FLT_MAX) {
            s->wrong = "lifted by scorers beyond all numbers";
            break;
        }
    }
    return s->wrong;
}
