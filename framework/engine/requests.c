/* Implements requests (settings of single inputs), deadlines and cancelling; declared in requests.h.
 *
 * An input that is cancelled or late may wait in the queue, or an engine may hold it as a ready or running item. In each case its
 * resources are freed, and its result is delivered in its turn. An item that is in a timestep (a busy item, beam_search.c) is removed
 * when the timestep ends. A long timestep is computed in parts, and between these the item leaves it (engine_leave_midway()).
 *
 * Sections: options of the domain · settings and creation · leaving early. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "engine_internal.h"
#include "rill/search_config.h"

/* Settings that belong to the run, which requests cannot override. */
#define FIELD(name)                                                          \
    {                                                                        \
        offsetof(rill_settings, name), sizeof(((rill_settings *)NULL)->name) \
    }
static const struct {
    size_t offset, size;
} run_fields[] = {FIELD(method),     FIELD(n),         FIELD(max_items),   FIELD(budget),
                  FIELD(refill),     FIELD(sort),      FIELD(sort_window), FIELD(flush_every),
                  FIELD(unordered),  FIELD(check),     FIELD(certify),     FIELD(exact),
                  FIELD(exact_rows), FIELD(max_nodes), FIELD(memory),      FIELD(unknown_penalty)};
enum { N_RUN_FIELDS = sizeof run_fields / sizeof *run_fields };

int rill_setting_is_per_request(const rill_option *setting)
{
    for (size_t i = 0; i < N_RUN_FIELDS; i++)
        if (run_fields[i].offset == setting->offset) return 0;
    return 1;
}

/* --- options of the domain ---------------------------------------------------------------------------------------- */

const rill_option *rill_domain_input_rows(const rill_domain *domain)
{
    return domain->input_options;
}

static rill_status fail_request_option(const rill_domain *domain, rill_context *ctx, const char *name)
{
    rill_option_near near = {.name = ""};
    char shown[64];
    if (rill_option_row(ctx, name) != NULL || strcmp(name, "heuristics") == 0 || strcmp(name, "scorers") == 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "\"%.60s\" is an option of the whole run: one input cannot set it",
                         name);
    for (const rill_option *row = rill_domain_input_rows(domain); row != NULL && row->name != NULL; row++)
        rill_option_nearer(row, name, &near);
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++)
        if (rill_setting_is_per_request(row)) rill_option_nearer(row, name, &near);
    rill_print_message(shown, sizeof shown, "%.60s", name);
    return rill__fail_unknown_name(ctx, RILL_ERR_OPTION, "option", shown, rill_refused_option("setting", name), &near,
                                   "`rill list settings` names them");
}

rill_status rill_domain_request_option(const rill_domain *domain, rill_context *ctx, const char *name,
                                       const rill_option **out)
{
    const rill_option *row = rill_option_find(rill_setting_table(), name);
    if (row != NULL && !rill_setting_is_per_request(row)) row = NULL;
    *out = row != NULL ? row : rill_option_find(rill_domain_input_rows(domain), name);
    return *out != NULL ? RILL_OK : fail_request_option(domain, ctx, name);
}

static rill_status check_value_of(rill_context *ctx, const rill_domain *domain, const char *name, const char *value)
{
    const rill_option *row = rill_option_find(rill_domain_input_rows(domain), name);
    if (row != NULL) return rill_option_read(ctx, row, value, NULL);
    return rill_fail(ctx, RILL_ERR_NOT_FOUND, "domain %s has no option \"%.60s\" of single inputs", domain->name, name);
}

rill_status rill_domain_input_option(const rill_domain *domain, const char *name, const char *value, rill_text *out)
{
    RILL__TRY(check_value_of(out->ctx, domain, name, value));
    if (strchr(value, ' ') != NULL)
        return rill_fail(out->ctx, RILL_ERR_OPTION, "%s: the value \"%.60s\" has a space", name, value);
    return rill_text_printf(out, "%s%s=%s", out->length > 0 ? " " : "", name, value);
}

/* Append a request's options to `out` in the form of rill_input.options: "NAME\0VALUE\0" for each option, then a NUL. If the request has no
 * options, nothing is appended. */
static rill_status read_input_options(rill_context *ctx, const rill_domain *domain, const char *text, rill_text *out)
{
    if (text[0] == '\0') return RILL_OK;
    RILL__TRY(rill_text_append(out, text, strlen(text) + 1));
    for (char *pos = out->data; pos < out->data + out->length;) {
        const size_t length = strcspn(pos, " ");
        char *equals = memchr(pos, '=', length);
        pos[length] = '\0';
        if (equals == NULL)
            return rill_fail(ctx, RILL_ERR_OPTION,
                             "the options of an input are NAME=VALUE separated by spaces, found \"%.60s\"", pos);
        *equals = '\0';
        if (check_value_of(ctx, domain, pos, equals + 1) < 0) return RILL_ERR_OPTION;
        pos += length + 1;
    }
    return RILL_OK;
}

const char *rill_input_value(const rill_input *input, const char *name)
{
    const char *pos = input->options, *found = NULL;
    while (pos != NULL && *pos != '\0') {
        const char *value = pos + strlen(pos) + 1;
        if (rill__same_name(pos, name)) found = value;
        pos = value + strlen(value) + 1;
    }
    return found;
}

int rill_input_switch(const rill_input *input, const char *name, int opened)
{
    const char *value = rill_input_value(input, name);
    return value != NULL ? strcmp(value, "0") != 0 && strcmp(value, "false") != 0 : opened;
}

/* --- settings and creation ----------------------------------------------------------------------------------------- */

void requests_init(requests *all, const rill_engine_setup *setup)
{
    *all = (requests){.setup_settings = setup->settings,
                      .has_heuristics = setup->n_heuristics > 0,
                      .has_budget_fn = setup->budget != NULL,
                      .clock = setup->clock,
                      .clock_user = setup->clock_user,
                      .next_deadline = INFINITY};
}

double requests_now(const requests *all)
{
    return all->clock != NULL ? all->clock(all->clock_user) : statistics_clock();
}

/* Combine the request's settings with the settings that belong to the run, and fill in presets and defaults. */
static rill_status resolve_settings(rill_engine *e, request *r)
{
    rill_settings out = r->settings;
    const rill_settings *run = &e->requests.setup_settings;
    if (!r->unresolved) return RILL_OK;
    for (size_t i = 0; i < N_RUN_FIELDS; i++)
        memcpy((char *)&out + run_fields[i].offset, (const char *)run + run_fields[i].offset, run_fields[i].size);
    RILL__TRY(rill__model_recommend(e->model, e->ctx, &out));
    /* heuristics belong to the run, but they do not prune samples or beam groups (merge.c) */
    const int unpruned = out.sample > 0 || out.groups > 1;
    RILL__TRY(
        rill__settings_resolve(e->ctx, &out, e->requests.has_heuristics && !unpruned, e->requests.has_budget_fn, NULL));
    RILL__TRY(variants_check(e->ctx, &e->chain, &out, &e->info));
    RILL__TRY(stop_check_lengths(e->ctx, &out, &e->info));
    r->settings = out;
    r->unresolved = 0;
    return RILL_OK;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static rill_status fill_request(rill_context *ctx, const rill_engine *e, const rill_request *req, request *r)
{
    if (req->timeout < 0 || isnan(req->timeout))
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "timeout: %g is not a number of seconds above 0, or 0 for no "
                         "limit",
                         req->timeout);
    if (req->number < 0)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "the number of a request is %lld: expected a number from 1, or "
                         "0 for its id",
                         (long long)req->number);
    r->user = req->user;
    r->progress = req->progress;
    r->number = req->number;
    r->settings = e->settings;
    r->unresolved = req->settings != NULL;
    r->deadline = req->timeout > 0 ? requests_now(&e->requests) + req->timeout : INFINITY;
    if (req->input_options != NULL) RILL__TRY(read_input_options(ctx, e->domain, req->input_options, &r->options));
    return req->settings != NULL ? rill__settings_copy(ctx, &r->settings, req->settings) : RILL_OK;
}

/* Return the arguments that the request sets for heuristic or scorer number i; NULL: it sets none, and those of the engine's setup
 * apply. */
static const char *own_argument(const chain *c, const rill_request *req, int32_t i)
{
    const char *const *list = i < c->n_heuristics ? req->heuristics : req->scorers;
    return list != NULL ? list[i < c->n_heuristics ? i : i - c->n_heuristics] : NULL;
}

/* Allocate a request, with copies of the argument texts of its heuristics and scorers. */
static request *alloc_request(rill_context *ctx, const chain *c, const rill_request *req)
{
    const int32_t n = req->heuristics != NULL || req->scorers != NULL ? c->n : 0;
    size_t bytes = sizeof(request) + (size_t)n * (sizeof(chain_instance *) + sizeof(char *));
    char *text = NULL;
    for (int32_t i = 0; i < n; i++)
        if (own_argument(c, req, i) != NULL) bytes += strlen(own_argument(c, req, i)) + 1;
    request *r = rill_calloc(ctx, 1, bytes);
    if (r == NULL) {
        rill_fail_memory(ctx, bytes, "a request");
        return NULL;
    }
    r->ctx = r->options.ctx = ctx;
    r->bytes = bytes;
    r->n_instances = n;
    r->arguments = (const char **)(r->instances + n);
    text = (char *)(r->arguments + n);
    for (int32_t i = 0; i < n; i++) {
        const char *own = own_argument(c, req, i);
        if (own == NULL) continue;
        r->arguments[i] = strcpy(text, own);
        text += strlen(own) + 1;
    }
    return r;
}

rill_status request_create(rill_context *ctx, const rill_engine *e, const rill_request *req, request **out)
{
    *out = NULL;
    if (request_is_text_only(req)) return RILL_OK;
    request *r = alloc_request(ctx, &e->chain, req);
    if (r == NULL) return RILL_ERR_MEMORY;
    rill_status status = fill_request(ctx, e, req, r);
    if (status < 0)
        request_free(r);
    else
        *out = r;
    return status;
}

rill_status request_open(rill_engine *e, request *r)
{
    if (r == NULL || r->engine != NULL) return RILL_OK;
    RILL__TRY(resolve_settings(e, r));
    if (r->n_instances > 0)
        RILL__TRY(chain_acquire(&e->chain, r->arguments, r->arguments + e->chain.n_heuristics, r->instances));
    r->engine = e;
    e->requests.n_requests++;
    e->requests.n_watched += r->progress != NULL;
    rill_status status = memory_limit_check(e, r);
    if (status < 0) request_close(r);
    return status;
}

void request_close(request *r)
{
    if (r == NULL || r->engine == NULL) return;
    requests *all = &r->engine->requests;
    all->n_requests--;
    all->n_watched -= r->progress != NULL;
    if (r->n_instances > 0) chain_release(&r->engine->chain, r->instances);
    r->engine = NULL;
}

void request_free(request *r)
{
    if (r == NULL) return;
    request_close(r);
    rill_text_clear(&r->options);
    rill_free(r->ctx, r, r->bytes);
}

/* --- leaving early ------------------------------------------------------------------------------------------------ */

/* Remove the item with index `place` from the running items; the items after it move up by one. */
static void remove_running(rill_engine *e, int32_t place)
{
    running_items *f = &e->running;
    running_clear_overdue(f, &e->items, f->slot[place]);
    for (int32_t i = place + 1; i < f->n; i++) running_move(f, &e->items, i - 1, i);
    f->n--;
}

/* used instead of an index among the running items (`place`): the item is not running, but ready */
enum { IS_READY = -1 };

/* End an item without new outputs. If `status` is RILL_OK, the saved result of an earlier search is delivered; else a failed result with
 * this status. */
static rill_status fail_item(rill_engine *e, int32_t slot, int32_t place, rill_status status, const char *message)
{
    item *it = &e->items.item[slot];
    if (status < 0)
        RILL__TRY(input_queue_put_failed(e->queue, &e->taker, it->input, status, message));
    else
        engine_deliver_saved(e, it->input);
    if (place == IS_READY) {
        items_remove_ready(&e->items, slot);
    } else {
        remove_running(e, place);
        tracer_item(&e->tracer, RILL_TRACE_FINISHED, e->statistics.total.timesteps, slot, it, status);
    }
    statistics_remove_item(&e->statistics, it);
    engine_free_item(e, slot);
    engine_free_nodes(e);
    return RILL_OK;
}

static rill_status cancel_item(rill_engine *e, int32_t slot, int32_t place)
{
    return fail_item(e, slot, place, RILL_ERR_CANCELLED, MESSAGE_CANCELLED);
}

rill_status engine_finish_cancelled(rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n && e->items.n_cancelled > 0; i++) {
        int32_t slot = t->selected[i];
        const item *it = &e->items.item[slot];
        if (!it->cancelled) continue;
        e->items.n_cancelled--;
        if (it->failed < 0)
            RILL__TRY(fail_item(e, slot, e->items.running_index[slot], it->failed, it->fail_reason.data));
        else
            RILL__TRY(cancel_item(e, slot, e->items.running_index[slot]));
    }
    return RILL_OK;
}

int engine_is_input_error(rill_status status)
{
    return status < 0 && status != RILL_ERR_MEMORY && status != RILL_ERR_STOPPED && status != RILL_ERR_CHECK;
}

/* Mark an item that is in a timestep in progress, so that it is removed when the timestep is over. */
static void mark_cancelled(rill_engine *e, item *it)
{
    e->items.n_cancelled += !it->cancelled;
    it->cancelled = 1;
}

rill_status engine_fail_selected(rill_engine *e, int32_t slot, rill_status status, const char *message)
{
    item *it = &e->items.item[slot];
    if (it->failed < 0) return RILL_OK;
    rill_text_reset(&it->fail_reason);
    RILL__TRY(rill_text_append(&it->fail_reason, message, strlen(message)));
    it->failed = status;
    mark_cancelled(e, it);
    return RILL_OK;
}

static rill_status fail_timed_out(rill_engine *e, int32_t slot, int32_t place)
{
    char message[120];
    if (e->items.item[slot].input->saved_result != NULL) return fail_item(e, slot, place, RILL_OK, "");
    snprintf(message, sizeof message, "the deadline passed at timestep %d, before there was any %s",
             e->items.item[slot].timestep,
             e->items.item[slot].dropped_truncated ? "complete output, which require-end requires" : "hypothesis");
    return fail_item(e, slot, place, RILL_ERR_DEADLINE, message);
}

/* Make outputs of a timed-out item's beam: of its ended entries; if the item still has no output, of its best ended hypothesis (setting
 * at-limit "best-ended"), or else of its live entries. */
static rill_status output_beam(rill_engine *e, item *it)
{
    int32_t found = it->n_outputs;
    if (it->timestep == 0) return RILL_OK; /* the beam has only the empty hypothesis */
    RILL__TRY(RILL__GROW(e->ctx, it->outputs, it->outputs_capacity, (size_t)(found + it->width) + 1, "outputs"));
    for (int ended = 1; ended >= 0; ended--) {
        if (!ended && found == 0) found = engine_before_outputs(e, it, 1);
        for (int32_t i = 0; i < it->width && (ended || found == 0); i++) {
            beam_entry *entry = &it->beam[i];
            if ((entry->ended != 0) != ended) continue;
            item_output output = stop_entry_output(it, entry);
            output.hyp = entry->hyp;
            entry->hyp = -1;
            stop_add_output(e, it, output);
            found += ended;
        }
    }
    return RILL_OK;
}

static rill_status finish_timed_out(rill_engine *e, int32_t place)
{
    int32_t slot = e->running.slot[place];
    item *it = &e->items.item[slot];
    /* the complete result of an earlier search is better than the outputs of an unfinished one */
    if (it->input->saved_result != NULL) return fail_timed_out(e, slot, place);
    RILL__TRY(output_beam(e, it));
    if (it->n_outputs == 0) return fail_timed_out(e, slot, place);
    it->timed_out = 1;
    RILL__TRY(engine_finish_item(e, slot));
    remove_running(e, place);
    engine_free_nodes(e);
    return RILL_OK;
}

/* Return why an input must leave: RILL_ERR_CANCELLED or RILL_ERR_DEADLINE. RILL_OK means that it stays. */
static rill_status reason_to_leave(const queued_input *in, double now)
{
    if (in->cancelled) return RILL_ERR_CANCELLED;
    return in->request != NULL && in->request->deadline <= now ? RILL_ERR_DEADLINE : RILL_OK;
}

/* Mark the cancelled and late items that leave the timestep midway. No item leaves midway if the model has several phases, because beams
 * have changed after the first phase, or with cube pruning, where hypotheses share rows. Items in exact search do not leave midway
 * either. */
static rill_status mark_leaving(rill_engine *e, const timestep *t)
{
    const double now = e->requests.next_deadline < INFINITY ? requests_now(&e->requests) : -INFINITY;
    if (atomic_load(&e->queue->stopped)) return rill_fail(e->ctx, RILL_ERR_STOPPED, "the run was stopped");
    if (e->info.phases > 1 || t->row_of != NULL) return RILL_OK;
    if (now < e->requests.next_deadline && e->queue->n_cancelled == 0 && e->items.n_cancelled == 0) return RILL_OK;
    for (int32_t i = 0; i < t->n; i++) {
        item *it = &e->items.item[t->selected[i]];
        it->leaves |= it->owner == NULL && (it->cancelled || reason_to_leave(it->input, now) < 0);
    }
    return RILL_OK;
}

rill_status engine_leave_midway(rill_engine *e, timestep *t)
{
    RILL__TRY(mark_leaving(e, t));
    while (t->next_row < t->rows.n && e->items.item[t->rows.slot[t->next_row]].leaves) t->next_row++;
    return RILL_OK;
}

static rill_status drop_waiting(rill_engine *e, double now)
{
    queued_input *in, *next;
    const rill_status status = input_queue_drop_late(e->queue, &e->taker, now, &in);
    for (; in != NULL; in = next) {
        next = in->next;
        engine_deliver_saved(e, in);
        engine_free_input(e, in);
    }
    return status;
}

static rill_status drop_ready(rill_engine *e, double now)
{
    for (int32_t slot = e->items.first_ready, next; slot >= 0; slot = next) {
        const rill_status reason = reason_to_leave(e->items.item[slot].input, now);
        next = e->items.item[slot].next_slot;
        if (reason == RILL_ERR_CANCELLED) RILL__TRY(cancel_item(e, slot, IS_READY));
        if (reason == RILL_ERR_DEADLINE) RILL__TRY(fail_timed_out(e, slot, IS_READY));
    }
    return RILL_OK;
}

static rill_status drop_running(rill_engine *e, double now)
{
    for (int32_t i = e->running.n - 1; i >= 0; i--) {
        const int32_t slot = e->running.slot[i];
        item *it = &e->items.item[slot];
        const rill_status reason = reason_to_leave(it->input, now);
        if (reason == RILL_ERR_CANCELLED && e->items.busy[slot])
            mark_cancelled(e, it);
        else if (reason == RILL_ERR_CANCELLED)
            RILL__TRY(cancel_item(e, slot, i));
        else if (reason == RILL_ERR_DEADLINE && !e->items.busy[slot])
            RILL__TRY(finish_timed_out(e, i));
    }
    return RILL_OK;
}

static double earlier_deadline(double next, const item *it)
{
    return it->request != NULL && it->request->deadline < next ? it->request->deadline : next;
}

/* Remove the cancelled and late items of this engine. */
static rill_status drop_items(rill_engine *e, double now)
{
    double next = INFINITY;
    RILL__TRY(drop_ready(e, now));
    RILL__TRY(drop_running(e, now));
    for (int32_t slot = e->items.first_ready; slot >= 0; slot = e->items.item[slot].next_slot)
        next = earlier_deadline(next, &e->items.item[slot]);
    for (int32_t i = 0; i < e->running.n; i++) next = earlier_deadline(next, &e->items.item[e->running.slot[i]]);
    e->requests.next_deadline = next;
    return RILL_OK;
}

rill_status engine_drop_inputs(rill_engine *e)
{
    const double waiting = e->queue->next_deadline, held = e->requests.next_deadline;
    const double now = waiting < INFINITY || held < INFINITY ? requests_now(&e->requests) : -INFINITY;
    if (waiting <= now) RILL__TRY(drop_waiting(e, now));
    return held <= now || e->queue->n_cancelled > 0 ? drop_items(e, now) : RILL_OK;
}

rill_status cancel_not_found(rill_context *ctx, int64_t id)
{
    return rill_fail(ctx, RILL_ERR_NOT_FOUND,
                     "input %lld cannot be cancelled: it has finished, or was never "
                     "submitted",
                     (long long)id);
}

rill_status rill_engine_cancel(rill_engine *e, int64_t id)
{
    if (e->failed < 0) return e->failed;
    const rill_status status = input_queue_cancel(e->queue, id);
    if (status == RILL_ERR_NOT_FOUND) return cancel_not_found(e->ctx, id);
    if (status < 0) return status;
    const int n_marked = e->queue->n_cancelled;
    if (n_marked > 0) RILL__TRY(drop_items(e, -INFINITY));
    /* RILL_AGAIN means that an earlier call marked the input, but had no memory for its result. This call succeeds if it has made that
     * result */
    return status == RILL_AGAIN && e->queue->n_cancelled == n_marked ? cancel_not_found(e->ctx, id) : RILL_OK;
}
