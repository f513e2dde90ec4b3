/* rill_select(): a row's raw candidates under everything that was asked of the row.
 *
 * Why the raw best M + extra suffice: bans strike at most as many of them as there are bans, additions move only the actions
 * they name, and the end rule or an end reward moves only the end action. What is not among the raw best and not named by
 * an entry is behind M better ones already. Actions that an entry names are looked up. (One limit:
 * a reward so large that rounding makes scores equal which were not can hide a smaller action that the raw list ranks later.
 * So that the answer is still the row's alone, it is made of as many raw candidates as this row needs, whatever the others of
 * the call made the domain give.)
 *
 * Arithmetic of a score, the same wherever an action comes from: logp, plus its addition, plus the row's reward, in float. */
#include <string.h>

#include "rill/domain.h"

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

/* Everything about the row at hand. */
typedef struct row_rules {
    const rill_raw *raw;
    int32_t row, max_choices;
    int32_t n; /* raw candidates that count */
    span bans, allowed, added;
    const float *add_score;
    float reward, end_reward;
    int rewarded, end_rewarded;
    uint8_t end_rule; /* bits of rill_end_rule */
} row_rules;

/* Where a domain says what ends, end rules strike any number; it gives all legal actions, so they are the same in every call. */
static int32_t raw_needed(const row_rules *r)
{
    int end_moved = r->reward != 0 || r->end_reward != 0 || r->end_rule != RILL_END_ALLOWED;
    int64_t need = (int64_t)r->max_choices + r->bans.n + r->added.n + end_moved;
    return r->raw->terminal == NULL && need < r->raw->n ? (int32_t)need : r->raw->n;
}

static row_rules rules_of(const rill_ask *ask, int32_t row, const rill_raw *raw)
{
    row_rules r = {.raw = raw, .row = row, .max_choices = ask->max_choices};
    if (ask->limit != NULL && ask->limit[row] < r.max_choices) r.max_choices = ask->limit[row];
    r.bans = row_span(ask->ban_offset, ask->ban_action, row);
    r.allowed = row_span(ask->allow_offset, ask->allow_action, row);
    r.added = row_span(ask->add_offset, ask->add_action, row);
    r.add_score = ask->add_offset != NULL ? ask->add_score + ask->add_offset[row] : NULL;
    r.rewarded = ask->reward != NULL;
    r.reward = r.rewarded ? ask->reward[row] : 0;
    r.end_rewarded = ask->end_reward != NULL;
    r.end_reward = r.end_rewarded ? ask->end_reward[row] : 0;
    r.end_rule = ask->end_rule != NULL ? ask->end_rule[row] : RILL_END_ALLOWED;
    r.n = raw_needed(&r);
    return r;
}

static rill_terminal terminal_of(const rill_raw *raw, int32_t row, int32_t action)
{
    if (raw->terminal != NULL) return raw->terminal(raw->user, row, action);
    return action == raw->end_action ? RILL_END : RILL_LIVE;
}

/* Put a choice in its place among the row's best; the last one falls off when there are M. */
static void insert(rill_choices *out, int32_t row, int32_t max_choices, int32_t action, float logp, float score,
                   rill_terminal terminal)
{
    int32_t *count = &out->count[row];
    int64_t base = (int64_t)row * out->stride;
    int32_t at = *count;
    while (at > 0) {
        int64_t before = base + at - 1;
        if (out->score[before] > score || (out->score[before] == score && out->action[before] < action)) break;
        at--;
    }
    if (at >= max_choices) return;
    if (*count < max_choices) (*count)++;
    for (int32_t i = *count - 1; i > at; i--) {
        out->action[base + i] = out->action[base + i - 1];
        out->logp[base + i] = out->logp[base + i - 1];
        out->score[base + i] = out->score[base + i - 1];
        out->terminal[base + i] = out->terminal[base + i - 1];
    }
    out->action[base + at] = action;
    out->logp[base + at] = logp;
    out->score[base + at] = score;
    out->terminal[base + at] = (uint8_t)terminal;
}

/* Judge one action and take it in if it passes. */
static void consider(const row_rules *r, int32_t action, float logp, rill_choices *out)
{
    if (!(logp > RILL_SCORE_DEAD)) return; /* also NaN */
    if (span_find(r->bans, action) >= 0) return;
    if (r->allowed.n > 0 && span_find(r->allowed, action) < 0) return;
    rill_terminal terminal = terminal_of(r->raw, r->row, action);
    if ((r->end_rule & RILL_END_FORBIDDEN) && terminal != RILL_LIVE) return;
    if ((r->end_rule & RILL_END_REQUIRED) && terminal == RILL_LIVE) return;
    if ((r->end_rule & RILL_END_NOT_YET) && terminal == RILL_END) return;
    float score = logp;
    int32_t addition = span_find(r->added, action);
    if (addition >= 0) score += r->add_score[addition];
    if (terminal == RILL_END) {
        if (r->end_rewarded) score += r->end_reward;
    } else if (r->rewarded) {
        score += r->reward;
    }
    if (!(score > RILL_SCORE_DEAD)) return;
    insert(out, r->row, r->max_choices, action, logp, score, terminal);
}

/* Index of an action in the raw list, or -1. */
static int32_t raw_find(const rill_raw *raw, int32_t action)
{
    for (int32_t i = 0; i < raw->n; i++)
        if (raw->action[i] == action) return i;
    return -1;
}

/* Consider actions that an entry names and that are not among the raw candidates that count. */
static void consider_named(const row_rules *r, span named, rill_choices *out)
{
    const rill_raw *raw = r->raw;
    for (int32_t i = 0; i < named.n; i++) {
        int32_t action = named.action[i];
        if (action < 0) continue; /* RILL_NO_ACTION */
        int32_t at = raw_find(raw, action);
        if (at >= r->n)
            consider(r, action, raw->logp[at], out);
        else if (at < 0 && raw->lookup != NULL)
            consider(r, action, raw->lookup(raw->user, r->row, action), out);
    }
}

static void take_plain(int32_t row, const rill_raw *raw, int32_t max_choices, rill_choices *out)
{
    int64_t base = (int64_t)row * out->stride;
    int32_t n = 0;
    for (int32_t i = 0; i < raw->n && n < max_choices; i++) {
        if (!(raw->logp[i] > RILL_SCORE_DEAD)) continue;
        out->action[base + n] = raw->action[i];
        out->logp[base + n] = out->score[base + n] = raw->logp[i];
        out->terminal[base + n] = (uint8_t)terminal_of(raw, row, raw->action[i]);
        n++;
    }
    out->count[row] = n;
}

void rill_select(const rill_ask *ask, int32_t row, const rill_raw *raw, rill_choices *out)
{
    if (ask->plain) {
        take_plain(row, raw, ask->max_choices, out);
        return;
    }
    row_rules rules = rules_of(ask, row, raw);
    out->count[row] = 0;
    for (int32_t i = 0; i < rules.n; i++) consider(&rules, raw->action[i], raw->logp[i], out);
    /* With an allowed set nothing outside it counts, so additions need no look of their own. */
    consider_named(&rules, rules.allowed.n > 0 ? rules.allowed : rules.added, out);
    int end_moved = rules.rewarded || rules.end_rewarded || (rules.end_rule & RILL_END_REQUIRED) != 0;
    if (end_moved && raw->end_action >= 0 && rules.allowed.n == 0 && span_find(rules.added, raw->end_action) < 0)
        consider_named(&rules, (span){&raw->end_action, 1}, out);
}
