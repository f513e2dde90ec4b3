/* Selects each live hypothesis's best next actions, with bonuses and masks applied.
 *
 * A request asks for each row's best M actions, and for as many more as modifiers may remove or lower: one per ban, per lowered action, per
 * action kept for a constraint bank, and one for the end action. These contain every choice, except actions that modifiers may raise: those
 * with a bonus, and the end action. Such actions are requested by id, as picks; so is a short list of allowed actions. A long list of
 * allowed actions or bans becomes a set of legal actions. If only the domain knows which actions end, all are requested.
 *
 * Score, in float: logp times factor, plus bonus, plus the row's reward. One limit: a reward so large that rounding makes scores equal can
 * hide an action with a smaller id. */
#include "topk.h"

#include <float.h>
#include <math.h>

enum {
    /* maximum length of lists that become picks or stay lists of bans; longer lists become bit sets */
    SHORT_LIST = 32,
    /* if all actions are requested: maximum number of choices in one part of a score call, which takes 18 MB */
    PART_MAX_CHOICES = 1 << 21,
    /* the same limit while an input has a deadline, since deadlines are checked between two parts */
    PART_MAX_CHOICES_TIMED = 1 << 19
};

/* --- modifiers of a row ------------------------------------------------------------------------------------------- */

static int32_t span_find(span s, int32_t action)
{
    return rill__find_sorted(s.action, s.n, action);
}

/* The actions of a short list are all picks, so the row needs no best choices. */
static int has_only_picks(const row_rules *r)
{
    return r->allowed.n > 0 && r->allowed.n <= SHORT_LIST;
}

static int needs_set(const row_rules *r)
{
    return r->allowed.n > SHORT_LIST || (r->bans.n > SHORT_LIST && !has_only_picks(r));
}

/* Returns 1 if the rules may remove the end action from the row's best choices or change its rank, else 0. */
static int may_move_end(const topk *s, const row_rules *r)
{
    return s->info->end_action >= 0 && (r->reward != 0 || r->end_reward != 0 || r->end_rule != RILL_END_ALLOWED);
}

/* --- requests of choices ------------------------------------------------------------------------------------------ */

static int32_t row_max_choices(const topk *s, const row_rules *r)
{
    if (has_only_picks(r)) return 0;
    /* more than M: actions that rules ban or move down, and those kept for constraint banks */
    int64_t need = (int64_t)r->max_choices + (needs_set(r) ? 0 : r->bans.n) + r->kept.n + may_move_end(s, r);
    for (int32_t i = 0; i < r->additions.n; i++)
        need += r->additions.value[i] < 0 || (r->additions.factor != NULL && r->additions.factor[i] > 1);
    return need < s->info->actions ? (int32_t)need : s->info->actions;
}

/* Returns 1 if the rules allow the end action, else 0. The end action gets end_reward; all other actions get `reward`. */
static int may_score_end(const row_rules *r)
{
    return (r->end_rule & (RILL_END_FORBIDDEN | RILL_END_NOT_YET)) == 0;
}

/* Returns the actions that the row's picks come from: actions whose log-probability is requested by id. */
static span named_actions(const row_rules *r)
{
    return has_only_picks(r) ? r->allowed : r->additions;
}

/* Write the row's picks, ascending, to out[named_actions().n + 1]. Returns their number. */
static int32_t list_picks(const topk *s, const row_rules *r, int32_t *out)
{
    const span named = named_actions(r);
    const int picks_end = may_move_end(s, r) && may_score_end(r) && !has_only_picks(r);
    int32_t n = 0, end = picks_end ? s->info->end_action : RILL_NO_ACTION;
    for (int32_t i = 0; i < named.n; i++) {
        if (end >= 0 && end < named.action[i]) out[n++] = end;
        if (end <= named.action[i]) end = RILL_NO_ACTION;
        if (named.action[i] >= 0) out[n++] = named.action[i]; /* RILL_NO_ACTION: no action is allowed */
    }
    if (end >= 0) out[n++] = end;
    return n;
}

/* --- sets of legal actions ---------------------------------------------------------------------------------------- */

static void set_bit(uint64_t *set, int32_t action, int on)
{
    uint64_t bit = UINT64_C(1) << (action % 64);
    set[action / 64] = on ? set[action / 64] | bit : set[action / 64] & ~bit;
}

/* Write the bit set of the row's legal actions: allowed, within info.legal, and not banned. */
static void write_set(const topk *s, const row_rules *r, uint64_t *set)
{
    size_t words = s->request.legal_words;
    memset(set, r->allowed.n > 0 ? 0 : 0xFF, words * sizeof *set);
    for (int32_t i = 0; i < r->allowed.n; i++) set_bit(set, r->allowed.action[i], 1);
    for (size_t w = 0; w < words && s->info->legal != NULL; w++) set[w] &= s->info->legal[w];
    for (int32_t i = 0; i < r->bans.n; i++) set_bit(set, r->bans.action[i], 0);
}

/* Append the row's set to `sets`, unless it equals the last one: adjacent rows often have equal sets. */
static void make_set(topk *s, const row_rules *r, int32_t row)
{
    const size_t words = s->request.legal_words;
    uint64_t *fresh = s->sets + (size_t)s->n_sets * words;
    write_set(s, r, fresh);
    if (s->n_sets == 0 || memcmp(fresh - words, fresh, words * sizeof *fresh) != 0) s->n_sets++;
    s->row_set[row] = s->n_sets - 1;
}

/* Write the request for all rows: numbers of choices, picks, and sets of legal actions. */
static void make_request(topk *s, const topk_sizes *sizes)
{
    int32_t n = 0;
    s->n_sets = sizes->sets > 0 && s->info->legal != NULL; /* the first set is for rows without a set of their own */
    if (s->n_sets > 0) memcpy(s->sets, s->info->legal, s->request.legal_words * sizeof *s->sets);
    const int32_t other = s->n_sets - 1; /* -1: such rows need no set */
    for (int32_t r = 0; r < s->n; r++) {
        const row_rules rules = make_row_rules(s->modifiers, r);
        s->row_max_choices[r] = row_max_choices(s, &rules);
        s->pick_offset[r] = n;
        n += list_picks(s, &rules, s->pick_action + n);
        for (int32_t i = s->pick_offset[r]; i < n; i++) s->pick_row[i] = r;
        s->row_set[r] = other;
        if (needs_set(&rules)) make_set(s, &rules, r);
    }
    s->pick_offset[s->n] = n;
    s->request.row_max_choices = s->row_max_choices;
    s->request.n_picks = n;
    s->request.pick_row = s->pick_row;
    s->request.pick_action = s->pick_action;
    if (sizes->sets == 0) return;
    s->request.legal = s->sets;
    s->request.legal_set = s->row_set;
}

/* --- memory of the choices ---------------------------------------------------------------------------------------- */

void topk_init(topk *s, rill_context *ctx, const rill_domain_info *info)
{
    *s = (topk){.ctx = ctx, .info = info};
}

void topk_finish(topk *s)
{
    rill_free(s->ctx, s->block, s->block_bytes);
    *s = (topk){0};
}

static int32_t part_rows(const topk *s)
{
    const int is_timed = s->part_max_rows < INT32_MAX,
              max_choices = is_timed ? PART_MAX_CHOICES_TIMED : PART_MAX_CHOICES;
    int32_t rows = s->n;
    if ((is_timed || s->all_actions) && s->request.max_choices > 0) rows = max_choices / s->request.max_choices;
    if (rows > s->part_max_rows) rows = s->part_max_rows;
    return rows < 1 ? 1 : rows < s->n ? rows : s->n;
}

/* Compute the sizes that the call needs, and the largest number of choices requested for any row. */
static topk_sizes measure_sizes(topk *s)
{
    topk_sizes sizes = {.rows = (size_t)s->n, .entries = (size_t)s->n * (size_t)s->choices.stride};
    s->request.max_choices = s->all_actions              ? s->info->actions
                             : s->modifiers->limits_only ? s->modifiers->max_choices
                                                         : 0;
    if (s->modifiers->limits_only) return sizes;
    for (int32_t r = 0; r < s->n && !s->all_actions; r++) {
        row_rules rules = make_row_rules(s->modifiers, r);
        int32_t wanted = row_max_choices(s, &rules);
        if (wanted > s->request.max_choices) s->request.max_choices = wanted;
        sizes.picks += (size_t)named_actions(&rules).n + 1;
        sizes.sets += (size_t)needs_set(&rules);
    }
    sizes.raw_rows = (size_t)part_rows(s);
    sizes.raw_entries = sizes.raw_rows * (size_t)s->request.max_choices;
    if (sizes.sets > 0) sizes.sets++; /* info.legal */
    return sizes;
}

#define CARVE(pointer, n) (pointer) = rill_carve(c, (n), sizeof *(pointer))

static void carve_arrays(topk *s, rill_carver *c, const topk_sizes *sizes)
{
    choice_table *t = &s->choices;
    rill_score_result *raw = &s->raw;
    const size_t words = s->request.legal_words;
    CARVE(t->count, sizes->rows);
    CARVE(t->action, sizes->entries);
    CARVE(t->logp, sizes->entries);
    CARVE(t->terminal, sizes->entries);
    CARVE(raw->ends, sizes->rows);
    CARVE(s->row_max_choices, sizes->rows);
    CARVE(s->max_rest, s->bounds_rest ? sizes->rows : 0);
    t->score = t->logp;
    if (s->modifiers->limits_only) return;
    CARVE(t->score, sizes->entries);
    CARVE(s->ended, sizes->rows);
    CARVE(raw->count, sizes->raw_rows);
    CARVE(raw->action, sizes->raw_entries);
    CARVE(raw->logp, sizes->raw_entries);
    CARVE(raw->terminal, sizes->raw_entries);
    CARVE(s->pick_offset, sizes->rows + 1);
    CARVE(s->pick_row, sizes->picks);
    CARVE(s->pick_action, sizes->picks);
    CARVE(raw->pick_logp, sizes->picks);
    CARVE(s->row_set, sizes->rows);
    CARVE(s->sets, sizes->sets * words);
}

/* --- checking the domain's choices -------------------------------------------------------------------------------- */

static int set_error(topk *s, int32_t row, const char *wrong)
{
    if (s->error == NULL) s->error_row = row;
    if (s->error == NULL) s->error = wrong;
    return 0;
}

/* Returns 0 on an error, or at the first log-probability of RILL_SCORE_DEAD, after which nothing can be chosen. */
int topk_check_unusual(topk *s, int32_t r, int32_t i)
{
    const rill_score_result *raw = &s->raw;
    const size_t index = (size_t)r * (size_t)raw->stride + (size_t)i;
    const int32_t action = raw->action[index];
    /* logp must be finite or RILL_SCORE_DEAD, and at most prev_logp */
    const float logp = raw->logp[index], prev_logp = i > 0 ? raw->logp[index - 1] : FLT_MAX;
    if (!(logp <= prev_logp)) return set_error(s, r, "not sorted, or not numbers");
    if (logp == (float)RILL_SCORE_DEAD) return 0;
    if ((uint32_t)action >= (uint32_t)s->info->actions) return set_error(s, r, "unknown actions");
    if (logp == prev_logp && i > 0 && action <= raw->action[index - 1])
        return set_error(s, r, "equal, but not sorted by action");
    if (raw->terminal[index] > RILL_LAST) return set_error(s, r, "of an unknown terminal kind");
    if (!s->is_last_phase && raw->terminal[index] != RILL_LIVE)
        return set_error(s, r, "terminal before the last phase");
    return 1;
}

static int check_row(topk *s, int32_t r)
{
    const rill_score_result *raw = &s->raw;
    if (raw->count[r] < 0 || raw->count[r] > s->request.max_choices) return set_error(s, r, "more than requested");
    if (raw->ends[r] > RILL_ENDS_BY_FLAG || (raw->ends[r] == RILL_ENDS_BY_FLAG && !s->info->terminals_by_flag))
        return set_error(s, r, "of a terminal kind that the domain's info does not declare");
    return 1;
}

/* Cut row r at its first log-probability of RILL_SCORE_DEAD. Returns 0 on an error. */
static int read_row(topk *s, int32_t r)
{
    const rill_score_result *raw = &s->raw;
    int32_t i = 0;
    if (!check_row(s, r)) return 0;
    for (; i < raw->count[r]; i++) {
        topk_choice c;
        if (!topk_check_choice(s, r, i, (size_t)r * (size_t)raw->stride + (size_t)i, &c)) break;
    }
    s->raw.count[r] = i;
    return s->error == NULL;
}

/* --- choosing the best actions ------------------------------------------------------------------------------------ */

/* Insert a choice into the row's best choices, in rank order. If there are max_count already, the last one is evicted. */
static void insert_choice(topk *s, int32_t row, int32_t max_count, int32_t action, float logp, float score,
                          rill_terminal terminal)
{
    choice_table *c = &s->choices;
    int32_t *count = &c->count[row], pos = *count;
    size_t base = (size_t)row * (size_t)c->stride;
    for (; pos > 0; pos--) {
        size_t prev = base + (size_t)pos - 1;
        if (c->score[prev] > score || (c->score[prev] == score && c->action[prev] < action)) break;
    }
    if (s->bounds_rest && *count == max_count) {
        const double cut_score = (double)(pos < max_count ? c->score[base + (size_t)max_count - 1] : score);
        if (cut_score > s->max_rest[row]) s->max_rest[row] = cut_score;
    }
    if (pos >= max_count) return;
    if (*count < max_count) (*count)++;
    for (size_t i = base + (size_t)*count - 1; i > base + (size_t)pos; i--) {
        c->action[i] = c->action[i - 1];
        c->logp[i] = c->logp[i - 1];
        c->score[i] = c->score[i - 1];
        c->terminal[i] = c->terminal[i - 1];
    }
    c->action[base + (size_t)pos] = action;
    c->logp[base + (size_t)pos] = logp;
    c->score[base + (size_t)pos] = score;
    c->terminal[base + (size_t)pos] = (uint8_t)terminal;
}

static int is_end_rule_met(const row_rules *r, rill_terminal terminal)
{
    return !((r->end_rule & RILL_END_FORBIDDEN) && terminal != RILL_LIVE) &&
           !((r->end_rule & RILL_END_REQUIRED) && terminal == RILL_LIVE) &&
           !((r->end_rule & RILL_END_NOT_YET) && terminal == RILL_END);
}

/* Keep the best choice with the end action and the best with another last action, apart from the row's best M. */
static void keep_ended(topk *s, int32_t row, topk_choice c)
{
    topk_choice *best = c.terminal == RILL_END ? &s->ended[row].by_end : &s->ended[row].by_last;
    if (best->terminal != RILL_LIVE && (best->score > c.score || (best->score == c.score && best->action < c.action)))
        return;
    *best = c;
}

/* Add an action's modifiers to its log-probability, and insert the action into the row's best choices if the rules allow it. */
static void consider_choice(topk *s, const row_rules *r, int32_t row, int32_t action, float logp,
                            rill_terminal terminal)
{
    if (!(logp > RILL_SCORE_DEAD)) return; /* this drops NaN too */
    if (span_find(r->bans, action) >= 0) return;
    if (r->allowed.n > 0 && span_find(r->allowed, action) < 0) return;
    if (!is_end_rule_met(r, terminal)) return;
    float score = logp;
    int32_t addition = span_find(r->additions, action);
    if (addition >= 0 && r->additions.factor != NULL) score *= r->additions.factor[addition];
    if (addition >= 0) score += r->additions.value[addition];
    score += terminal == RILL_END ? r->end_reward : r->reward;
    if (!(score > RILL_SCORE_DEAD)) return;
    if ((r->end_rule & END_RULE_KEEPS_ENDED) && terminal != RILL_LIVE)
        keep_ended(s, row, (topk_choice){action, logp, score, terminal});
    insert_choice(s, row, r->max_choices, action, logp, score, terminal);
}

/* Check that the log-probability of each pick (action requested by id) is a number below infinity; RILL_SCORE_DEAD (-infinity) is
 * allowed. */
static int check_picks(topk *s, int32_t row, span picks)
{
    for (int32_t i = 0; i < picks.n; i++)
        if (!(s->raw.pick_logp[s->pick_offset[row] + i] <= FLT_MAX))
            return set_error(s, row, "not numbers for requested picks");
    return 1;
}

/* Returns the number of the row's choices to read: those requested for this row, so that the result does not depend on other rows. r:
 * index in the part. */
static int32_t n_raw_choices(const topk *s, int32_t row, int32_t r)
{
    const int32_t n = s->raw.count[r];
    return !s->all_actions && s->request.row_max_choices[row] < n ? s->request.row_max_choices[row] : n;
}

/* Insert choices kept for constraint banks (only_kept = 1), or all others (0). r: the row's index in the part. */
static void choose_from(topk *s, const row_rules *rules, int32_t row, int32_t r, span picks, int only_kept)
{
    const rill_score_result *raw = &s->raw;
    const size_t base = (size_t)r * (size_t)raw->stride;
    const int32_t n = n_raw_choices(s, row, r);
    for (int32_t i = 0; i < n; i++) {
        const int32_t action = raw->action[base + (size_t)i];
        if (span_find(picks, action) < 0 && (span_find(rules->kept, action) >= 0) == only_kept)
            consider_choice(s, rules, row, action, raw->logp[base + (size_t)i],
                            (rill_terminal)raw->terminal[base + (size_t)i]);
    }
    for (int32_t i = 0; i < picks.n; i++) {
        const int32_t action = picks.action[i];
        const rill_terminal terminal = raw->ends[r] == RILL_ENDS_LAST  ? RILL_LAST
                                       : action == s->info->end_action ? RILL_END
                                                                       : RILL_LIVE;
        if ((span_find(rules->kept, action) >= 0) == only_kept)
            consider_choice(s, rules, row, action, raw->pick_logp[s->pick_offset[row] + i], terminal);
    }
}

/* Returns 1 if the rules change no score: they remove choices by the end rule and the limit M only. Else 0. */
static int only_filters(const row_rules *r)
{
    return r->bans.n + r->allowed.n + r->additions.n + r->kept.n == 0 && r->reward == 0 &&
           (r->end_reward == 0 || !may_score_end(r)) && (r->end_rule & END_RULE_KEEPS_ENDED) == 0;
}

/* A faster choose_from() for rules with only_filters(): take the first M returned choices that the end rule allows. */
static void filter_row(topk *s, const row_rules *rules, int32_t row, int32_t r)
{
    const rill_score_result *raw = &s->raw;
    const choice_table *c = &s->choices;
    const size_t from = (size_t)r * (size_t)raw->stride, to = (size_t)row * (size_t)c->stride;
    const int32_t n = n_raw_choices(s, row, r);
    int32_t count = 0;
    for (int32_t i = 0; i < n && count < rules->max_choices; i++) {
        const size_t in = from + (size_t)i, out = to + (size_t)count;
        if (!is_end_rule_met(rules, (rill_terminal)raw->terminal[in])) continue;
        c->action[out] = raw->action[in];
        c->logp[out] = c->score[out] = raw->logp[in];
        c->terminal[out] = raw->terminal[in];
        count++;
    }
    c->count[row] = count;
}

/* margin for the rounding error of summed float probabilities */
#define REST_SLACK 2e-5

/* Returns an upper bound on the log-probability of choices not returned: -infinity if all were; infinity if logp is not normalised.
 *   n, wanted: choices returned, requested; logp: [n] descending */
static double bound_unreturned(int32_t n, int32_t wanted, int32_t actions, const float *logp)
{
    double sum = 0;
    if (wanted == 0 || n < wanted || n >= actions) return RILL_SCORE_DEAD;
    if (!(logp[0] <= 0)) return INFINITY;
    for (int32_t i = 0; i < n; i++) sum += (double)expf(logp[i]);
    return fmin(log(fmax(1 - sum, 0) + REST_SLACK), (double)logp[n - 1]);
}

/* Select a row's best choices from the domain's result. r: the row's index in its part. Choices kept for constraint banks come last, and
 * evict no other. */
static void choose_row(topk *s, int32_t row, int32_t r)
{
    row_rules rules = make_row_rules(s->modifiers, row);
    const span picks = s->all_actions ? (span){0}
                                      : (span){.action = s->request.pick_action + s->pick_offset[row],
                                               .n = s->pick_offset[row + 1] - s->pick_offset[row]};
    s->choices.count[row] = 0;
    s->ended[row] = (ended_choices){0};
    if (s->bounds_rest)
        s->max_rest[row] = s->all_actions
                               ? RILL_SCORE_DEAD
                               : bound_unreturned(n_raw_choices(s, row, r), s->request.row_max_choices[row],
                                                  s->info->actions, s->raw.logp + (size_t)r * (size_t)s->raw.stride);
    if (!check_picks(s, row, picks)) return;
    if (only_filters(&rules) && picks.n == 0 && !s->bounds_rest) {
        filter_row(s, &rules, row, r);
        return;
    }
    choose_from(s, &rules, row, r, picks, 0);
    if (rules.kept.n == 0) return;
    rules.max_choices = s->choices.count[row] + rules.kept.n;
    choose_from(s, &rules, row, r, picks, 1);
}

/* --- calling the domain ------------------------------------------------------------------------------------------- */

rill_status topk_begin(topk *s, const modifier_table *rules, int32_t n, int32_t part_max_rows)
{
    rill_carver carver = {0};
    s->modifiers = rules;
    s->n = n;
    s->part_max_rows = part_max_rows;
    /* request all actions if modifiers apply and only the domain knows which choices are terminal */
    s->all_actions = s->info->terminals_by_flag && !rules->limits_only;
    s->request = (rill_score_request){.legal_words = ((size_t)s->info->actions + 63) / 64};
    /* room for the best M choices, and for the actions that constraint banks keep in addition */
    s->choices.stride = rules->max_choices + rules->max_kept;
    s->ended = NULL;
    const topk_sizes sizes = measure_sizes(s);
    carve_arrays(s, &carver, &sizes);
    RILL__TRY(rill_carve_reserve(s->ctx, &s->block, &s->block_bytes, &carver));
    carve_arrays(s, &carver, &sizes);
    const choice_table *t = &s->choices;
    s->raw.stride = s->request.max_choices;
    if (rules->limits_only) { /* no modifiers change scores: the domain writes its result directly to s->choices */
        s->raw = (rill_score_result){t->stride, t->count, t->action, t->logp, s->raw.ends, t->terminal, NULL};
        if (rules->limit == NULL) return RILL_OK;
        for (int32_t r = 0; r < n; r++) s->row_max_choices[r] = make_row_rules(rules, r).max_choices;
        s->request.row_max_choices = s->row_max_choices;
    } else if (!s->all_actions) {
        make_request(s, &sizes);
    }
    return RILL_OK;
}

int32_t topk_request_part(topk *s, int32_t from, rill_score_request *req, rill_score_result *out)
{
    int32_t n_left = s->n - from, max_n = part_rows(s), n = n_left < max_n ? n_left : max_n;
    *req = s->request;
    *out = s->raw;
    if (req->row_max_choices != NULL) req->row_max_choices += from;
    if (req->legal_set != NULL) req->legal_set += from;
    /* without modifiers the result arrays are those of s->choices, which have all rows */
    if (s->modifiers->limits_only) {
        const size_t first = (size_t)from * (size_t)out->stride;
        out->count += from;
        out->ends += from;
        out->action += first;
        out->logp += first;
        out->terminal += first;
    } else if (!s->all_actions) {
        /* only the picks of this part's rows, which are numbered from 0 */
        const int32_t first = s->pick_offset[from], end = s->pick_offset[from + n];
        for (int32_t i = first; i < end; i++) s->pick_row[i] -= from;
        req->n_picks = end - first;
        req->pick_row += first;
        req->pick_action += first;
        out->pick_logp += first;
    }
    memset(out->ends, RILL_ENDS_BY_ACTION, (size_t)n);
    return n;
}

/* Take the result of rows without modifiers, already in s->choices. Without check_all, merging checks the choices that it reads. */
static const char *take_unmodified(topk *s, int32_t from, int32_t n)
{
    int32_t *count = s->choices.count;
    const modifier_table *rules = s->modifiers;
    const int thorough = s->check_all, bounds_rest = s->bounds_rest;
    s->unchecked = !thorough;
    for (int32_t r = from; r < from + n; r++) {
        int32_t max_count = rules->max_choices;
        if (rules->limit != NULL && rules->limit[r] < max_count) max_count = rules->limit[r];
        if (!(thorough ? read_row(s, r) : check_row(s, r))) break;
        if (count[r] > max_count) count[r] = max_count;
        if (bounds_rest)
            s->max_rest[r] = bound_unreturned(count[r], max_count, s->info->actions,
                                              s->choices.logp + (size_t)r * (size_t)s->choices.stride);
    }
    return s->error;
}

const char *topk_take_result(topk *s, int32_t from, int32_t n, int last)
{
    s->is_last_phase = last;
    s->error = NULL;
    s->is_unbounded = 0;
    s->unchecked = 0;
    if (s->modifiers->limits_only) return take_unmodified(s, from, n);
    for (int32_t r = 0; r < n; r++) {
        if (read_row(s, r)) choose_row(s, from + r, r);
        s->error_row = from + r;
        if (s->error != NULL) break;
        size_t first = (size_t)(from + r) * (size_t)s->choices.stride;
        s->is_unbounded |= s->choices.count[from + r] > 0 && s->choices.score[first] > FLT_MAX;
    }
    return s->error;
}
