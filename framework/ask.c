/* The ask builder; ask.h says what it is for.
 *
 * Entries are triples in order of arrival. Laying out sorts them by row and action (they mostly arrive so), adds up what
 * falls on one action in order of arrival, and compresses the rows. An allowed set of several scorers is the intersection:
 * an action stays when as many scorers named it as restricted the row.
 *
 * Divisions: memory · what scorers call · layout. */
#include <stdlib.h>
#include <string.h>

#include "ask.h"

#include <math.h>

/* --- memory ------------------------------------------------------------------------------------------------------- */

void ask_init(rill_ask_builder *b, rill_context *ctx, int32_t actions)
{
    *b = (rill_ask_builder){.ctx = ctx, .actions = actions, .reasons = {.ctx = ctx}};
}

static void list_finish(rill_context *ctx, ask_list *list)
{
    rill_free(ctx, list->entry, list->capacity * sizeof *list->entry);
    rill_free(ctx, list->offset, list->offset_capacity * sizeof *list->offset);
    rill_columns_free(ctx, &list->values);
}

void ask_finish(rill_ask_builder *b)
{
    if (b->ctx == NULL) return;
    list_finish(b->ctx, &b->add);
    list_finish(b->ctx, &b->ban);
    list_finish(b->ctx, &b->allow);
    list_finish(b->ctx, &b->bank);
    rill_free(b->ctx, b->refused, b->refused_capacity * sizeof *b->refused);
    rill_text_clear(&b->reasons);
    rill_free(b->ctx, b->seen, b->seen_words * sizeof *b->seen);
    rill_columns_free(b->ctx, &b->rows);
    *b = (rill_ask_builder){0};
}

rill_status ask_begin(rill_ask_builder *b, int32_t n)
{
    const rill_array columns[] = {RILL_ARRAY(b->end_rule),     RILL_ARRAY(b->reward),        RILL_ARRAY(b->end_reward),
                                  RILL_ARRAY(b->restrictions), RILL_ARRAY(b->restricted_by), RILL_ARRAY(b->limit),
                                  RILL_ARRAY(b->banks),        RILL_ARRAY(b->bank_rest),     RILL_ARRAY(b->blamed)};
    b->n = b->n_heard = n;
    b->scorer = b->first = 0;
    b->name = "";
    b->add.n = b->ban.n = b->allow.n = b->bank.n = b->n_refused = 0;
    b->has_end_rule = b->has_reward = b->has_end_reward = b->has_allow = b->has_limit = 0;
    b->has_factor = b->has_banks = b->has_blamed = 0;
    rill_text_reset(&b->reasons);
    return rill_columns_grow(b->ctx, &b->rows, (size_t)n, columns, sizeof columns / sizeof *columns,
                             "what scorers say");
}

/* --- what scorers call -------------------------------------------------------------------------------------------- */

/* Then *row is counted from the first of all. */
static rill_status check_row(rill_ask_builder *b, int32_t *row, int32_t action)
{
    if (*row < 0 || *row >= b->n_heard)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s names row %d of %d", b->name, *row, b->n_heard);
    if (action < 0 || action >= b->actions)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s names action %d of %d", b->name, action, b->actions);
    *row += b->first;
    return RILL_OK;
}

static rill_status push(rill_ask_builder *b, ask_list *list, int32_t row, int32_t action, float value)
{
    RILL__TRY(check_row(b, &row, action));
    RILL__TRY(RILL__GROW(b->ctx, list->entry, list->capacity, list->n + 1, "what scorers say"));
    list->entry[list->n] = (ask_entry){row, action, (int32_t)list->n, value, 1};
    list->n++;
    return RILL_OK;
}

/* -inf is a way to forbid; +inf and NaN would leave no order among the choices. */
static rill_status check_value(rill_ask_builder *b, const char *what, float value)
{
    if (!(value < INFINITY))
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: %s of %g: a number below infinity is needed", b->name,
                         what, (double)value);
    return RILL_OK;
}

rill_status rill_ask_add(rill_ask_builder *b, int32_t row, int32_t action, float value)
{
    RILL__TRY(check_value(b, "addition", value));
    return push(b, &b->add, row, action, value);
}

rill_status rill_ask_scale(rill_ask_builder *b, int32_t row, int32_t action, float factor)
{
    if (!(factor > 0 && factor < INFINITY))
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: a factor of %g: a number above 0 is needed", b->name,
                         (double)factor);
    RILL__TRY(push(b, &b->add, row, action, 0));
    b->add.entry[b->add.n - 1].factor = factor;
    b->has_factor = 1;
    return RILL_OK;
}

/* The row, counted from the first of all, is one that the scorer at work has forbidden something. */
static void blame(rill_ask_builder *b, int32_t row)
{
    if (b->scorer < 0) return;
    if (!b->has_blamed) memset(b->blamed, 0, (size_t)b->n * sizeof *b->blamed);
    b->has_blamed = 1;
    b->blamed[row] = b->scorer + 1;
}

rill_status rill_ask_ban(rill_ask_builder *b, int32_t row, int32_t action)
{
    RILL__TRY(push(b, &b->ban, row, action, 0));
    blame(b, b->first + row);
    return RILL_OK;
}

/* Then *row is counted from the first of all. */
static rill_status restrict_row(rill_ask_builder *b, int32_t *row)
{
    RILL__TRY(check_row(b, row, 0));
    blame(b, *row);
    if (!b->has_allow) {
        memset(b->restrictions, 0, (size_t)b->n * sizeof *b->restrictions);
        memset(b->restricted_by, 0, (size_t)b->n * sizeof *b->restricted_by);
        b->has_allow = 1;
    }
    if (b->restricted_by[*row] != b->scorer + 1) {
        b->restricted_by[*row] = b->scorer + 1;
        b->restrictions[*row]++;
    }
    return RILL_OK;
}

rill_status rill_ask_allow(rill_ask_builder *b, int32_t row, int32_t action)
{
    RILL__TRY(push(b, &b->allow, row, action, 0));
    RILL__TRY(restrict_row(b, &row));
    b->allow.entry[b->allow.n - 1].order = b->scorer;
    return RILL_OK;
}

rill_status rill_ask_allow_none(rill_ask_builder *b, int32_t row)
{
    RILL__TRY(restrict_row(b, &row));
    /* One restriction more than there are sets, so that nothing is in all of them. */
    b->restrictions[row]++;
    return RILL_OK;
}

rill_status rill_ask_refuse(rill_ask_builder *b, int32_t row, const char *why)
{
    int32_t at = row;
    RILL__TRY(rill_ask_allow_none(b, row));
    RILL__TRY(check_row(b, &at, 0));
    RILL__TRY(RILL__GROW(b->ctx, b->refused, b->refused_capacity, b->n_refused + 1, "what scorers say"));
    b->refused[b->n_refused] = (ask_refusal){at, b->reasons.length};
    RILL__TRY(rill_text_append(&b->reasons, why, strlen(why) + 1));
    b->n_refused++;
    return RILL_OK;
}

rill_status rill_ask_banks(rill_ask_builder *b, int32_t row, int32_t banks, int32_t rest)
{
    RILL__TRY(check_row(b, &row, 0));
    if (banks < 1 || banks > RILL_MOST_BANKS || rest < 0 || rest >= banks)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: bank %d of %d: there are 1 to %d", b->name, rest, banks,
                         RILL_MOST_BANKS);
    if (!b->has_banks) memset(b->banks, 0, (size_t)b->n * sizeof *b->banks);
    if (b->has_banks && b->banks[row] != 0)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: the row has banks already: one scorer may make them",
                         b->name);
    b->has_banks = 1;
    b->banks[row] = banks;
    b->bank_rest[row] = rest;
    return RILL_OK;
}

/* It is an addition of nothing as well: so the action is found wherever the model ranks it. */
rill_status rill_ask_bank(rill_ask_builder *b, int32_t row, int32_t action, int32_t bank)
{
    int32_t at = row;
    RILL__TRY(check_row(b, &at, action));
    if (!b->has_banks || bank < 0 || bank >= b->banks[at])
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: bank %d, and the row has %d", b->name, bank,
                         b->has_banks ? b->banks[at] : 0);
    RILL__TRY(push(b, &b->add, row, action, 0));
    return push(b, &b->bank, row, action, (float)bank);
}

rill_status rill_ask_end(rill_ask_builder *b, int32_t row, rill_end_rule rule)
{
    RILL__TRY(check_row(b, &row, 0));
    if (rule == RILL_END_ALLOWED) return RILL_OK;
    blame(b, row);
    if (!b->has_end_rule) {
        memset(b->end_rule, RILL_END_ALLOWED, (size_t)b->n);
        b->has_end_rule = 1;
    }
    b->end_rule[row] |= (uint8_t)rule;
    return RILL_OK;
}

static void add_reward(float *rewards, int *has, int32_t n, int32_t row, float value)
{
    if (!*has) memset(rewards, 0, (size_t)n * sizeof *rewards);
    *has = 1;
    rewards[row] += value;
}

rill_status rill_ask_reward(rill_ask_builder *b, int32_t row, float value)
{
    RILL__TRY(check_value(b, "reward", value));
    RILL__TRY(check_row(b, &row, 0));
    add_reward(b->reward, &b->has_reward, b->n, row, value);
    return RILL_OK;
}

rill_status rill_ask_end_reward(rill_ask_builder *b, int32_t row, float value)
{
    RILL__TRY(check_value(b, "reward of the end", value));
    RILL__TRY(check_row(b, &row, 0));
    add_reward(b->end_reward, &b->has_end_reward, b->n, row, value);
    return RILL_OK;
}

void ask_unlimit(rill_ask_builder *b, int32_t row)
{
    if (b->has_limit) b->limit[row] = INT32_MAX;
}

rill_status rill_ask_limit(rill_ask_builder *b, int32_t row, int32_t m)
{
    RILL__TRY(check_row(b, &row, 0));
    if (m < 1)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s limits a row to %d choices: 1 is the least", b->name, m);
    if (!b->has_limit)
        for (int32_t i = 0; i < b->n; i++) b->limit[i] = INT32_MAX;
    b->has_limit = 1;
    if (m < b->limit[row]) b->limit[row] = m;
    return RILL_OK;
}

/* --- layout ------------------------------------------------------------------------------------------------------- */

static int compare_entries(const void *left, const void *right)
{
    const ask_entry *a = left, *b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->action != b->action) return a->action < b->action ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_entries(ask_list *list)
{
    for (size_t i = 1; i < list->n; i++)
        if (compare_entries(&list->entry[i - 1], &list->entry[i]) > 0) {
            qsort(list->entry, list->n, sizeof *list->entry, compare_entries);
            return;
        }
}

/* How many different scorers named the action of entries [i, end), which are sorted by scorer. */
static int32_t count_scorers(const ask_list *list, size_t i, size_t end)
{
    int32_t count = 1;
    for (size_t j = i + 1; j < end; j++) count += list->entry[j].order != list->entry[j - 1].order;
    return count;
}

static size_t same_action(const ask_list *list, size_t i)
{
    size_t end = i + 1;
    while (end < list->n && list->entry[end].row == list->entry[i].row &&
           list->entry[end].action == list->entry[i].action)
        end++;
    return end;
}

static rill_status reserve_layout(rill_ask_builder *b, ask_list *list)
{
    const rill_array columns[] = {RILL_ARRAY(list->action), RILL_ARRAY(list->value), RILL_ARRAY(list->factor)};
    size_t most = list->n + (size_t)b->n; /* a lone RILL_NO_ACTION per row at most */
    RILL__TRY(RILL__GROW(b->ctx, list->offset, list->offset_capacity, (size_t)b->n + 1, "what scorers say"));
    return rill_columns_grow(b->ctx, &list->values, most, columns, 3, "what scorers say");
}

/* How the entries of one action are put together: they are added up, only what all restricting scorers named is kept, or the last holds. */
typedef enum together { ADD_UP, INTERSECT, LAST_HOLDS } together;

/* Compress one list. */
static rill_status lay_out(rill_ask_builder *b, ask_list *list, together how)
{
    RILL__TRY(reserve_layout(b, list));
    sort_entries(list);
    size_t i = 0;
    int32_t n = 0;
    for (int32_t row = 0; row < b->n; row++) {
        list->offset[row] = n;
        while (i < list->n && list->entry[i].row == row) {
            size_t end = same_action(list, i);
            float sum = 0, factor = 1;
            for (size_t j = i; j < end; j++) sum += list->entry[j].value;
            for (size_t j = i; j < end && b->has_factor; j++) factor *= list->entry[j].factor;
            if (how == LAST_HOLDS) sum = list->entry[end - 1].value;
            if (how != INTERSECT || count_scorers(list, i, end) == b->restrictions[row]) {
                list->action[n] = list->entry[i].action;
                list->factor[n] = factor;
                list->value[n++] = sum;
            }
            i = end;
        }
        if (how == INTERSECT && n == list->offset[row] && b->restrictions[row] > 0) list->action[n++] = RILL_NO_ACTION;
    }
    list->offset[b->n] = n;
    return RILL_OK;
}

/* The most that any row may have. */
static int32_t largest_limit(const rill_ask_builder *b, int32_t max_choices)
{
    int32_t largest = 1;
    if (!b->has_limit) return max_choices;
    for (int32_t row = 0; row < b->n; row++)
        if (b->limit[row] > largest) largest = b->limit[row];
    return largest < max_choices ? largest : max_choices;
}

static rill_status build_banks(rill_ask_builder *b, ask_rules *rules)
{
    rules->banks = b->banks;
    rules->bank_rest = b->bank_rest;
    if (b->bank.n == 0) return RILL_OK;
    RILL__TRY(lay_out(b, &b->bank, LAST_HOLDS));
    rules->bank_offset = b->bank.offset;
    rules->bank_action = b->bank.action;
    rules->bank_to = b->bank.value;
    for (int32_t row = 0; row < b->n; row++) {
        int32_t kept = b->bank.offset[row + 1] - b->bank.offset[row];
        if (kept > rules->most_kept) rules->most_kept = kept;
    }
    return RILL_OK;
}

rill_status ask_build(rill_ask_builder *b, int32_t max_choices, ask_rules *rules)
{
    *rules = (ask_rules){.max_choices = largest_limit(b, max_choices), .limit = b->has_limit ? b->limit : NULL};
    if (b->add.n > 0) {
        RILL__TRY(lay_out(b, &b->add, ADD_UP));
        rules->add_offset = b->add.offset;
        rules->add_action = b->add.action;
        rules->add_score = b->add.value;
        rules->add_factor = b->has_factor ? b->add.factor : NULL;
    }
    if (b->ban.n > 0) {
        RILL__TRY(lay_out(b, &b->ban, ADD_UP));
        rules->ban_offset = b->ban.offset;
        rules->ban_action = b->ban.action;
    }
    if (b->has_allow) {
        RILL__TRY(lay_out(b, &b->allow, INTERSECT));
        rules->allow_offset = b->allow.offset;
        rules->allow_action = b->allow.action;
    }
    if (b->has_end_rule) rules->end_rule = b->end_rule;
    if (b->has_reward) rules->reward = b->reward;
    if (b->has_end_reward) rules->end_reward = b->end_reward;
    if (b->has_banks) RILL__TRY(build_banks(b, rules));
    if (b->has_blamed) rules->blamed = b->blamed;
    rules->plain = !(b->add.n > 0 || b->ban.n > 0 || b->has_allow || b->has_end_rule || b->has_reward ||
                     b->has_end_reward || b->has_banks);
    return RILL_OK;
}
