/* Collects bonuses, bans and limits for the rows of a score call, and builds their table, sorted by row and action.
 *
 * Values of one action are summed in order of arrival. An action is allowed if all scorers that restrict the row allow it. */
#include <stdlib.h>
#include <string.h>

#include "modifiers.h"

#include <math.h>

/* --- memory of the modifiers -------------------------------------------------------------------------------------- */

void modifiers_init(rill_modifiers *b, rill_context *ctx, int32_t actions)
{
    *b = (rill_modifiers){.ctx = ctx, .n_actions = actions, .reasons = {.ctx = ctx}};
}

static void list_finish(rill_context *ctx, modifier_list *list)
{
    rill_free(ctx, list->entry, list->capacity * sizeof *list->entry);
    rill_free(ctx, list->offset, list->offset_capacity * sizeof *list->offset);
    rill_columns_free(ctx, &list->memory);
}

void modifiers_finish(rill_modifiers *b)
{
    if (b->ctx == NULL) return;
    list_finish(b->ctx, &b->add);
    list_finish(b->ctx, &b->ban);
    list_finish(b->ctx, &b->allow);
    list_finish(b->ctx, &b->bank);
    rill_free(b->ctx, b->refusals, b->refusals_capacity * sizeof *b->refusals);
    rill_text_clear(&b->reasons);
    rill_free(b->ctx, b->seen, b->seen_words * sizeof *b->seen);
    rill_columns_free(b->ctx, &b->row_memory);
    *b = (rill_modifiers){0};
}

rill_status modifiers_begin(rill_modifiers *b, int32_t n)
{
    const rill_array columns[] = {
        RILL_ARRAY(b->end_rule),       RILL_ARRAY(b->reward),           RILL_ARRAY(b->end_reward),
        RILL_ARRAY(b->n_restrictions), RILL_ARRAY(b->last_restriction), RILL_ARRAY(b->limit),
        RILL_ARRAY(b->n_banks),        RILL_ARRAY(b->default_bank),     RILL_ARRAY(b->blocked_by)};
    b->n = b->n_scorer_rows = n;
    b->current_scorer = b->first_row = 0;
    b->scorer_name = "";
    b->add.n = b->ban.n = b->allow.n = b->bank.n = b->n_refusals = 0;
    b->has_end_rule = b->has_reward = b->has_end_reward = b->has_allow = b->has_limit = 0;
    b->has_factor = b->has_banks = b->has_blocked_by = 0;
    rill_text_reset(&b->reasons);
    RILL__TRY(RILL__GROW_COLUMNS(b->ctx, &b->row_memory, (size_t)n, columns, "modifiers"));
    if (n > 0) memset(b->row_memory.block, 0, b->row_memory.bytes);
    return RILL_OK;
}

/* --- scorer interface --------------------------------------------------------------------------------------------- */

/* Check a row and an action. *row is counted from the scorer's first row, and becomes an index in the whole score call. */
static rill_status check_row(rill_modifiers *b, int32_t *row, int32_t action)
{
    if (*row < 0 || *row >= b->n_scorer_rows)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: row %d does not exist: there are %d", b->scorer_name,
                         *row, b->n_scorer_rows);
    if (action < 0 || action >= b->n_actions)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: action %d does not exist: there are %d", b->scorer_name,
                         action, b->n_actions);
    *row += b->first_row;
    return RILL_OK;
}

static rill_status append_entry(rill_modifiers *b, modifier_list *list, int32_t row, int32_t action, float value)
{
    RILL__TRY(check_row(b, &row, action));
    RILL__TRY(RILL__GROW(b->ctx, list->entry, list->capacity, list->n + 1, "modifiers"));
    list->entry[list->n] = (modifier_entry){row, action, (int32_t)list->n, value, 1};
    list->n++;
    return RILL_OK;
}

/* Check a scorer's bonus. -infinity is valid and forbids the action; +infinity and NaN would leave the actions without an order. */
static rill_status check_value(rill_modifiers *b, const char *what, float value)
{
    if (!(value < INFINITY))
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: %s of %g: expected a finite number", b->scorer_name, what,
                         (double)value);
    return RILL_OK;
}

rill_status rill_modifiers_add(rill_modifiers *b, int32_t row, int32_t action, float value)
{
    RILL__TRY(check_value(b, "addition", value));
    return append_entry(b, &b->add, row, action, value);
}

rill_status rill_modifiers_scale(rill_modifiers *b, int32_t row, int32_t action, float factor)
{
    if (!(factor > 0 && factor < INFINITY))
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: a factor of %g: expected a number above 0",
                         b->scorer_name, (double)factor);
    RILL__TRY(append_entry(b, &b->add, row, action, 0));
    b->add.entry[b->add.n - 1].factor = factor;
    b->has_factor = 1;
    return RILL_OK;
}

/* Record that the scorer being called has forbidden an action in the row. `row`: index in the whole score call. */
static void note_blocked_by(rill_modifiers *b, int32_t row)
{
    if (b->current_scorer < 0) return;
    b->has_blocked_by = 1;
    b->blocked_by[row] = b->current_scorer + 1;
}

rill_status rill_modifiers_ban(rill_modifiers *b, int32_t row, int32_t action)
{
    RILL__TRY(append_entry(b, &b->ban, row, action, 0));
    note_blocked_by(b, b->first_row + row);
    return RILL_OK;
}

/* Count the scorer once among those that restrict the row. *row is converted as in check_row(). */
static rill_status restrict_row(rill_modifiers *b, int32_t *row)
{
    RILL__TRY(check_row(b, row, 0));
    note_blocked_by(b, *row);
    b->has_allow = 1;
    if (b->last_restriction[*row] != b->current_scorer + 1) {
        b->last_restriction[*row] = b->current_scorer + 1;
        b->n_restrictions[*row]++;
    }
    return RILL_OK;
}

rill_status rill_modifiers_allow(rill_modifiers *b, int32_t row, int32_t action)
{
    RILL__TRY(append_entry(b, &b->allow, row, action, 0));
    RILL__TRY(restrict_row(b, &row));
    b->allow.entry[b->allow.n - 1].order = b->current_scorer;
    return RILL_OK;
}

rill_status rill_modifiers_allow_none(rill_modifiers *b, int32_t row)
{
    RILL__TRY(restrict_row(b, &row));
    /* count a restriction without an allowed set: no action is then in all allowed sets */
    b->n_restrictions[row]++;
    return RILL_OK;
}

rill_status rill_modifiers_fail_input(rill_modifiers *b, int32_t row, const char *message)
{
    RILL__TRY(rill_modifiers_allow_none(b, row));
    RILL__TRY(RILL__GROW(b->ctx, b->refusals, b->refusals_capacity, b->n_refusals + 1, "modifiers"));
    b->refusals[b->n_refusals] = (modifier_refusal){b->first_row + row, b->reasons.length};
    RILL__TRY(rill_text_append(&b->reasons, message, strlen(message) + 1));
    b->n_refusals++;
    return RILL_OK;
}

rill_status rill_modifiers_divide_banks(rill_modifiers *b, int32_t row, int32_t banks, int32_t rest)
{
    RILL__TRY(check_row(b, &row, 0));
    if (banks < 1 || banks > RILL_MAX_BANKS || rest < 0 || rest >= banks)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: bank %d of %d: expected 1 to %d banks", b->scorer_name,
                         rest, banks, RILL_MAX_BANKS);
    if (b->n_banks[row] != 0)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: another scorer has divided the row into banks already",
                         b->scorer_name);
    b->has_banks = 1;
    b->n_banks[row] = banks;
    b->default_bank[row] = rest;
    return RILL_OK;
}

/* The bonus of 0 makes the action a pick (rill_score_request), whose log-probability is always requested. */
rill_status rill_modifiers_assign_bank(rill_modifiers *b, int32_t row, int32_t action, int32_t bank)
{
    int32_t index = row;
    RILL__TRY(check_row(b, &index, action));
    if (bank < 0 || bank >= b->n_banks[index])
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s: bank %d does not exist: the row has %d", b->scorer_name,
                         bank, b->n_banks[index]);
    RILL__TRY(append_entry(b, &b->add, row, action, 0));
    return append_entry(b, &b->bank, row, action, (float)bank);
}

rill_status rill_modifiers_end_rule(rill_modifiers *b, int32_t row, rill_end_rule rule)
{
    RILL__TRY(check_row(b, &row, 0));
    if (rule == RILL_END_ALLOWED) return RILL_OK;
    if ((rule & ~END_RULE_KEEPS_ENDED) != 0) note_blocked_by(b, row);
    b->has_end_rule = 1;
    b->end_rule[row] |= (uint8_t)rule;
    return RILL_OK;
}

rill_status rill_modifiers_reward(rill_modifiers *b, int32_t row, float value)
{
    RILL__TRY(check_value(b, "reward", value));
    RILL__TRY(check_row(b, &row, 0));
    b->has_reward = 1;
    b->reward[row] += value;
    return RILL_OK;
}

rill_status rill_modifiers_end_reward(rill_modifiers *b, int32_t row, float value)
{
    RILL__TRY(check_value(b, "reward of the end", value));
    RILL__TRY(check_row(b, &row, 0));
    b->has_end_reward = 1;
    b->end_reward[row] += value;
    return RILL_OK;
}

rill_status rill_modifiers_limit_children(rill_modifiers *b, int32_t row, int32_t m)
{
    RILL__TRY(check_row(b, &row, 0));
    if (m < 1)
        return rill_fail(b->ctx, RILL_ERR_PLUGIN, "scorer %s limits a row to %d choices: expected at least 1",
                         b->scorer_name, m);
    if (!b->has_limit)
        for (int32_t i = 0; i < b->n; i++) b->limit[i] = INT32_MAX;
    b->has_limit = 1;
    if (m < b->limit[row]) b->limit[row] = m;
    return RILL_OK;
}

/* --- sorting modifiers by row ------------------------------------------------------------------------------------- */

static int compare_entries(const void *left, const void *right)
{
    const modifier_entry *a = left, *b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->action != b->action) return a->action < b->action ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_entries(modifier_list *list)
{
    for (size_t i = 1; i < list->n; i++)
        if (compare_entries(&list->entry[i - 1], &list->entry[i]) > 0) {
            qsort(list->entry, list->n, sizeof *list->entry, compare_entries);
            return;
        }
}

/* Returns the number of different scorers among entries [i, end), which belong to one action and are sorted by scorer. */
static int32_t count_scorers(const modifier_list *list, size_t i, size_t end)
{
    int32_t count = 1;
    for (size_t j = i + 1; j < end; j++) count += list->entry[j].order != list->entry[j - 1].order;
    return count;
}

/* Returns the index after the last entry that has the row and action of entry i. */
static size_t action_end(const modifier_list *list, size_t i)
{
    size_t end = i + 1;
    while (end < list->n && list->entry[end].row == list->entry[i].row &&
           list->entry[end].action == list->entry[i].action)
        end++;
    return end;
}

/* How the entries of one action are combined. SUM: values are added. INTERSECT: all scorers that restrict the row must allow the action.
 * LAST: the last value wins. */
typedef enum combine_mode { COMBINE_SUM, COMBINE_INTERSECT, COMBINE_LAST } combine_mode;

/* Convert a list of entries to compressed sparse rows, with one entry per row and action. */
static rill_status compress_list(rill_modifiers *b, modifier_list *list, combine_mode mode, span_table *out)
{
    const rill_array columns[] = {RILL_ARRAY(list->action), RILL_ARRAY(list->value), RILL_ARRAY(list->factor)};
    RILL__TRY(RILL__GROW(b->ctx, list->offset, list->offset_capacity, (size_t)b->n + 1, "modifiers"));
    /* one element more per row, for the RILL_NO_ACTION that stands for "no action is allowed" */
    RILL__TRY(RILL__GROW_COLUMNS(b->ctx, &list->memory, list->n + (size_t)b->n, columns, "modifiers"));
    sort_entries(list);
    size_t i = 0;
    int32_t n = 0;
    for (int32_t row = 0; row < b->n; row++) {
        list->offset[row] = n;
        while (i < list->n && list->entry[i].row == row) {
            size_t end = action_end(list, i);
            float sum = 0, factor = 1;
            for (size_t j = i; j < end; j++) sum += list->entry[j].value;
            for (size_t j = i; j < end && b->has_factor; j++) factor *= list->entry[j].factor;
            if (mode == COMBINE_LAST) sum = list->entry[end - 1].value;
            if (mode != COMBINE_INTERSECT || count_scorers(list, i, end) == b->n_restrictions[row]) {
                list->action[n] = list->entry[i].action;
                list->factor[n] = factor;
                list->value[n++] = sum;
            }
            i = end;
        }
        if (mode == COMBINE_INTERSECT && n == list->offset[row] && b->n_restrictions[row] > 0) {
            list->factor[n] = 1;
            list->value[n] = 0;
            list->action[n++] = RILL_NO_ACTION;
        }
    }
    list->offset[b->n] = n;
    *out = (span_table){list->offset, list->action, list->value, b->has_factor ? list->factor : NULL};
    return RILL_OK;
}

/* Returns the largest number of choices that any row may have, at most max_choices. */
static int32_t max_row_limit(const rill_modifiers *b, int32_t max_choices)
{
    int32_t largest = 1;
    if (!b->has_limit) return max_choices;
    for (int32_t row = 0; row < b->n; row++)
        if (b->limit[row] > largest) largest = b->limit[row];
    return largest < max_choices ? largest : max_choices;
}

static rill_status build_banks(rill_modifiers *b, modifier_table *rules)
{
    rules->n_banks = b->n_banks;
    rules->default_bank = b->default_bank;
    if (b->bank.n == 0) return RILL_OK;
    RILL__TRY(compress_list(b, &b->bank, COMBINE_LAST, &rules->kept));
    for (int32_t row = 0; row < b->n; row++) {
        int32_t n_kept = b->bank.offset[row + 1] - b->bank.offset[row];
        if (n_kept > rules->max_kept) rules->max_kept = n_kept;
    }
    return RILL_OK;
}

rill_status modifiers_build(rill_modifiers *b, int32_t max_choices, modifier_table *rules)
{
    *rules = (modifier_table){.max_choices = max_row_limit(b, max_choices), .limit = b->has_limit ? b->limit : NULL};
    if (b->add.n > 0) RILL__TRY(compress_list(b, &b->add, COMBINE_SUM, &rules->additions));
    if (b->ban.n > 0) RILL__TRY(compress_list(b, &b->ban, COMBINE_SUM, &rules->bans));
    if (b->has_allow) RILL__TRY(compress_list(b, &b->allow, COMBINE_INTERSECT, &rules->allowed));
    if (b->has_end_rule) rules->end_rule = b->end_rule;
    if (b->has_reward) rules->reward = b->reward;
    if (b->has_end_reward) rules->end_reward = b->end_reward;
    if (b->has_banks) RILL__TRY(build_banks(b, rules));
    if (b->has_blocked_by) rules->blocked_by = b->blocked_by;
    rules->limits_only = !(b->add.n > 0 || b->ban.n > 0 || b->has_allow || b->has_end_rule || b->has_reward ||
                           b->has_end_reward || b->has_banks);
    return RILL_OK;
}
