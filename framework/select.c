/* Selection; select.h says what it is for.
 *
 * Why an answer suffices. Bans strike at most as many of a row's best as there are bans, additions and factors move only the actions
 * they name, those below zero and above one alone downwards, choices that a row has beyond its M leave their places to others, and an
 * end rule or a reward moves no action past others but the end action. So the model's best M + bans + lowered ones + those beyond + 1
 * have among them all that can be chosen, but for actions that may be lifted from behind them: an action with an addition, and the end
 * action. Of these the log-probability is asked for (a pick). What may be chosen at all is a short list, whose every action is picked,
 * or a set of actions, which the row's best are to come from; a long list of bans is such a set too. Sets are told from each other by
 * content: many rows share few.
 * Where any number of them may end and the domain alone knows which, everything is asked for. (Not where there are merely few:
 * the best 197 of 197 cost a semantic parser more than its network does.)
 *
 * Each row is asked for what it needs and judged by no more, so its answer does not depend on the others of the call. (One limit,
 * where not everything is asked for: a reward so large that rounding makes scores equal which were not can hide a smaller
 * action that the model ranks later.)
 *
 * Arithmetic of a score, the same wherever an action comes from: logp, times its factor, plus its addition, plus the row's reward, in
 * float.
 *
 * Divisions: a row's rules · asking · sets · memory · checking · choosing · the call. */
#include "select.h"

#include <float.h>

#include "certify.h"

enum {
    SHORT_LIST = 32,       /* allowed actions that are picked rather than made a set; bans that are not made one */
    PART_CHOICES = 1 << 21 /* of a part of a call in which everything is asked for: 18 MB */
};

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
    span bans, allowed, added, kept;
    const float *add_score, *add_factor;
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
                       .kept = row_span(a->bank_offset, a->bank_action, row),
                       .add_score = a->add_offset != NULL ? a->add_score + a->add_offset[row] : NULL,
                       .add_factor = a->add_factor != NULL ? a->add_factor + a->add_offset[row] : NULL,
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

/* Actions that may fall out of the row's best, or are not counted among them. */
static int32_t lowered(const row_rules *r)
{
    int32_t n = r->kept.n;
    for (int32_t i = 0; i < r->added.n; i++)
        n += r->add_score[i] < 0 || (r->add_factor != NULL && r->add_factor[i] > 1);
    return n;
}

static int32_t wanted_of(const selector *s, const row_rules *r)
{
    if (all_picked(r)) return 0;
    int64_t need = (int64_t)r->most + (has_set(r) ? 0 : r->bans.n) + lowered(r) + moves_end(s, r);
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

static void make_picks(selector *s)
{
    int32_t n = 0;
    for (int32_t r = 0; r < s->n; r++) {
        row_rules rules = rules_of(s->rules, r);
        s->pick_from[r] = n;
        n += list_picks(s, &rules, s->pick_action + n);
        for (int32_t i = s->pick_from[r]; i < n; i++) s->pick_row[i] = r;
    }
    s->pick_from[s->n] = s->ask.n_picks = n;
    s->ask.pick_row = s->pick_row;
    s->ask.pick_action = s->pick_action;
}

static void make_wanted(selector *s)
{
    s->ask.wanted = s->wanted;
    for (int32_t r = 0; r < s->n; r++) {
        row_rules rules = rules_of(s->rules, r);
        s->wanted[r] = s->rules->plain ? rules.most : wanted_of(s, &rules);
    }
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
static int32_t number_set(selector *s, size_t room)
{
    const uint64_t *sets = s->sets;
    int32_t *place = s->place;
    size_t words = s->ask.legal_words, at = hash_set(sets + (size_t)s->n_sets * words, words) & (room - 1);
    for (; place[at] >= 0; at = (at + 1) & (room - 1))
        if (memcmp(sets + (size_t)place[at] * words, sets + (size_t)s->n_sets * words, words * sizeof *sets) == 0)
            return place[at];
    return place[at] = s->n_sets++;
}

static void make_sets(selector *s, const select_room *room)
{
    size_t words = s->ask.legal_words;
    int32_t other = -1; /* of a row that may choose all it has */
    s->n_sets = 0;
    if (room->sets == 0) return;
    memset(s->place, 0xFF, room->places * sizeof *s->place);
    if (s->info->legal != NULL) {
        memcpy(s->sets, s->info->legal, words * sizeof *s->sets);
        other = number_set(s, room->places);
    }
    for (int32_t r = 0; r < s->n; r++) {
        row_rules rules = rules_of(s->rules, r);
        s->set_of[r] = other;
        if (!has_set(&rules)) continue;
        write_set(s, &rules, s->sets + (size_t)s->n_sets * words);
        s->set_of[r] = number_set(s, room->places);
    }
    s->ask.legal = s->sets;
    s->ask.legal_set = s->set_of;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

void selector_init(selector *s, rill_context *ctx, const rill_domain_info *info)
{
    *s = (selector){.ctx = ctx, .info = info};
}

void selector_finish(selector *s)
{
    rill_free(s->ctx, s->block, s->block_bytes);
    *s = (selector){0};
}

static int32_t part_rows(const selector *s)
{
    int32_t rows = s->whole ? PART_CHOICES / s->ask.most : s->n;
    return rows < 1 ? 1 : rows < s->n ? rows : s->n;
}

/* Places for a row's choices: its M, and those that it has beyond them. */
static int32_t stride_of(const ask_rules *rules)
{
    return rules->max_choices + rules->most_kept;
}

/* Find out what the call needs; also the most that any row is asked for. */
static select_room room_of(selector *s)
{
    select_room room = {.rows = (size_t)s->n, .entries = (size_t)s->n * (size_t)stride_of(s->rules)};
    s->ask.most = s->whole ? s->info->actions : s->rules->plain ? s->rules->max_choices : 0;
    if (s->rules->plain) return room;
    for (int32_t r = 0; r < s->n && !s->whole; r++) {
        row_rules rules = rules_of(s->rules, r);
        int32_t wanted = wanted_of(s, &rules);
        if (wanted > s->ask.most) s->ask.most = wanted;
        room.picks += (size_t)list_picks(s, &rules, NULL);
        room.sets += (size_t)has_set(&rules);
    }
    room.raw_rows = (size_t)part_rows(s);
    room.raw_entries = room.raw_rows * (size_t)s->ask.most;
    if (room.sets == 0) return room;
    room.sets++; /* what is legal anywhere; and room to write one that may be there already */
    for (room.places = 4; room.places < 2 * (room.sets + 1);) room.places *= 2;
    return room;
}

#define CARVE(pointer, n) (pointer) = rill_carve(c, (n), sizeof *(pointer))

static void lay_out(selector *s, rill_carver *c, const select_room *room)
{
    choice_table *t = &s->choices;
    rill_choices *raw = &s->raw;
    const size_t words = s->ask.legal_words;
    CARVE(t->count, room->rows);
    CARVE(t->action, room->entries);
    CARVE(t->logp, room->entries);
    CARVE(t->terminal, room->entries);
    CARVE(raw->ends, room->rows);
    CARVE(s->wanted, room->rows);
    CARVE(s->rest, s->certify ? room->rows : 0);
    t->score = t->logp;
    if (s->rules->plain) return;
    CARVE(t->score, room->entries);
    CARVE(raw->count, room->raw_rows);
    CARVE(raw->action, room->raw_entries);
    CARVE(raw->logp, room->raw_entries);
    CARVE(raw->terminal, room->raw_entries);
    CARVE(s->pick_from, room->rows + 1);
    CARVE(s->pick_row, room->picks);
    CARVE(s->pick_action, room->picks);
    CARVE(raw->pick_logp, room->picks);
    CARVE(s->set_of, room->rows);
    CARVE(s->sets, (room->sets + 1) * words);
    CARVE(s->place, room->places);
}

/* --- checking ----------------------------------------------------------------------------------------------------- */

static int found(selector *s, int32_t row, const char *wrong)
{
    if (s->wrong == NULL) s->bad = row;
    if (s->wrong == NULL) s->wrong = wrong;
    return 0;
}

/* What is the matter with choice i of row r of the answer, which selector_read() found not to be an ordinary one; 0 when there is none:
 * dead ones come last, and none behind them can be chosen. */
int selector_judge(selector *s, int32_t r, int32_t i)
{
    const rill_choices *raw = &s->raw;
    const size_t at = (size_t)r * (size_t)raw->stride + (size_t)i;
    const int32_t action = raw->action[at];
    const float logp = raw->logp[at], before = i > 0 ? raw->logp[at - 1] : FLT_MAX; /* it is finite, or dead */
    if (!(logp <= before)) return found(s, r, "not numbers in order");
    if (logp == (float)RILL_SCORE_DEAD) return 0;
    if ((uint32_t)action >= (uint32_t)s->info->actions) return found(s, r, "unknown actions");
    if (logp == before && i > 0 && action <= raw->action[at - 1])
        return found(s, r, "equal, but not in order of action");
    if (raw->terminal[at] > RILL_LAST) return found(s, r, "not of a known terminal kind");
    if (!s->last && raw->terminal[at] != RILL_LIVE) return found(s, r, "terminal before the last phase");
    return 1;
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
static int read_row(selector *s, int32_t r)
{
    const rill_choices *raw = &s->raw;
    int32_t i = 0;
    if (!check_row(s, r)) return 0;
    for (; i < raw->count[r]; i++) {
        const size_t at = (size_t)r * (size_t)raw->stride + (size_t)i;
        selector_choice c = {raw->action[at], raw->logp[at], raw->logp[at], (rill_terminal)raw->terminal[at]};
        if (!selector_read(s, r, i, at, &c)) break;
    }
    s->raw.count[r] = i;
    return s->wrong == NULL;
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */

/* Put a choice in its place among the row's best; the last one falls off when there are as many as may be. */
static void insert(selector *s, int32_t row, int32_t most, int32_t action, float logp, float score,
                   rill_terminal terminal)
{
    choice_table *c = &s->choices;
    int32_t *count = &c->count[row], at = *count;
    size_t base = (size_t)row * (size_t)c->stride;
    for (; at > 0; at--) {
        size_t before = base + (size_t)at - 1;
        if (c->score[before] > score || (c->score[before] == score && c->action[before] < action)) break;
    }
    if (s->certify && *count == most) {
        const double falls = (double)(at < most ? c->score[base + (size_t)most - 1] : score);
        if (falls > s->rest[row]) s->rest[row] = falls;
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
    if (addition >= 0 && r->add_factor != NULL) score *= r->add_factor[addition];
    if (addition >= 0) score += r->add_score[addition];
    score += terminal == RILL_END ? r->end_reward : r->reward;
    if (!(score > RILL_SCORE_DEAD)) return;
    insert(s, row, r->most, action, logp, score, terminal);
}

/* A pick's log-probability is a number, or dead. */
static int check_picks(selector *s, int32_t row, span picks)
{
    for (int32_t i = 0; i < picks.n; i++)
        if (!(s->raw.pick_logp[s->pick_from[row] + i] <= FLT_MAX))
            return found(s, row, "no numbers where picks were asked for");
    return 1;
}

/* Look at those of the row's raw choices and picks that are named in rules->kept, or at the others. */
static void choose_of(selector *s, const row_rules *rules, int32_t row, int32_t r, span picks, int kept)
{
    const rill_choices *raw = &s->raw;
    const size_t base = (size_t)r * (size_t)raw->stride;
    int32_t n = raw->count[r];
    if (!s->whole && s->ask.wanted[row] < n) n = s->ask.wanted[row];
    for (int32_t i = 0; i < n; i++) {
        const int32_t action = raw->action[base + (size_t)i];
        if (span_find(picks, action) < 0 && (span_find(rules->kept, action) >= 0) == kept)
            consider(s, rules, row, action, raw->logp[base + (size_t)i],
                     (rill_terminal)raw->terminal[base + (size_t)i]);
    }
    for (int32_t i = 0; i < picks.n; i++)
        if ((span_find(rules->kept, picks.action[i]) >= 0) == kept)
            consider(s, rules, row, picks.action[i], raw->pick_logp[s->pick_from[row] + i],
                     selector_kind(s, raw->ends[r], picks.action[i]));
}

/* What the domain has not returned of the row, which is row r of its part. */
static double rest_of_raw(const selector *s, int32_t row, int32_t r)
{
    const rill_choices *raw = &s->raw;
    if (s->whole) return RILL_SCORE_DEAD;
    const int32_t wanted = s->ask.wanted[row], n = raw->count[r] < wanted ? raw->count[r] : wanted;
    return certify_rest(n, wanted, s->info->actions, raw->logp + (size_t)r * (size_t)raw->stride);
}

/* Choose for row `row`, which is row r of its part: among its raw choices, and the picks wherever the model ranks them. Those that it
 * has beyond its M come last: nothing falls off for them. */
static void choose(selector *s, int32_t row, int32_t r)
{
    row_rules rules = rules_of(s->rules, row);
    const span picks = s->whole ? (span){NULL, 0} : row_span(s->pick_from, s->ask.pick_action, row);
    s->choices.count[row] = 0;
    if (s->certify) s->rest[row] = rest_of_raw(s, row, r);
    if (!check_picks(s, row, picks)) return;
    choose_of(s, &rules, row, r, picks, 0);
    if (rules.kept.n == 0) return;
    rules.most = s->choices.count[row] + rules.kept.n;
    choose_of(s, &rules, row, r, picks, 1);
}

/* --- the call ----------------------------------------------------------------------------------------------------- */

rill_status selector_ask(selector *s, const ask_rules *rules, int32_t n)
{
    rill_carver carver = {0};
    s->rules = rules;
    s->n = n;
    s->whole = s->info->terminals_told && !rules->plain; /* which of a row's choices may end the domain alone knows */
    s->ask = (rill_ask){.legal_words = ((size_t)s->info->actions + 63) / 64};
    const select_room room = room_of(s);
    lay_out(s, &carver, &room);
    RILL__TRY(rill_carve_again(s->ctx, &s->block, &s->block_bytes, &carver));
    lay_out(s, &carver, &room);
    const choice_table *t = &s->choices;
    s->choices.stride = stride_of(rules);
    s->raw.stride = s->ask.most;
    if (rules->plain) { /* the raw choices are the choices */
        s->raw = (rill_choices){t->stride, t->count, t->action, t->logp, s->raw.ends, t->terminal, NULL};
        if (rules->limit != NULL) make_wanted(s);
    } else if (!s->whole) {
        make_wanted(s);
        make_sets(s, &room);
        make_picks(s);
    }
    return RILL_OK;
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
    int32_t *count = s->choices.count;
    const ask_rules *rules = s->rules;
    const int thorough = s->thorough, certify = s->certify;
    s->unread = !thorough;
    for (int32_t r = 0; r < s->n; r++) {
        const int32_t most = most_of(rules, r);
        if (!(thorough ? read_row(s, r) : check_row(s, r))) break;
        if (count[r] > most) count[r] = most;
        if (certify)
            s->rest[r] = certify_rest(count[r], most, s->info->actions,
                                      s->choices.logp + (size_t)r * (size_t)s->choices.stride);
    }
    return s->wrong;
}

const char *selector_take(selector *s, int32_t from, int32_t n, int last)
{
    s->last = last;
    s->wrong = NULL;
    s->lifted = 0;
    s->unread = 0;
    if (s->rules->plain) return take_plainly(s);
    for (int32_t r = 0; r < n; r++) {
        if (read_row(s, r)) choose(s, from + r, r);
        s->bad = from + r;
        if (s->wrong != NULL) break;
        size_t first = (size_t)(from + r) * (size_t)s->choices.stride;
        s->lifted |= s->choices.count[from + r] > 0 && s->choices.score[first] > FLT_MAX;
    }
    return s->wrong;
}
