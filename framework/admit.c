/* Admission: inputs leave the intake, are encoded into slots, and join the flight when the policy says so.
 *
 * Invariant: a slot is in exactly one of the free ones, the ready and the flight, but for the moment in which its input is encoded.
 *
 * Divisions: slots · blanks · encoding · refilling. */
#include "rooms.h"

/* --- slots -------------------------------------------------------------------------------------------------------- */

rill_status engine_reserve_domain(rill_engine *e)
{
    int32_t nodes = e->forest.node_capacity, slots = (int32_t)e->items.memory.capacity;
    rill__reserved *told = e->runner.reserved;
    if (nodes <= told->nodes && slots <= told->slots) return RILL_OK;
    /* Never less than an earlier engine on this model asked for. */
    if (nodes < told->nodes) nodes = told->nodes;
    if (slots < told->slots) slots = told->slots;
    statistics_lap(&e->statistics, &e->statistics.now.choose);
    rill_error_clear(e->ctx);
    RILL__TRY(engine_domain_status(e, e->domain->reserve(e->self, nodes, slots), "reserve"));
    statistics_lap(&e->statistics, &e->statistics.now.encode);
    *told = (rill__reserved){nodes, slots};
    return RILL_OK;
}

static void leave_slot(rill_engine *e, int32_t slot)
{
    if (e->domain->drop != NULL) e->domain->drop(e->self, slot);
    items_give_slot(&e->items, slot);
}

void engine_forget_input(rill_engine *e, int32_t entry)
{
    request_drop(&e->requests, &e->chain, e->intake.entries[entry].request);
    e->intake.entries[entry].request = NULL;
    intake_release(&e->intake, entry);
}

void engine_drop_item(rill_engine *e, int32_t slot)
{
    engine_scorers_done(e, &e->items.at[slot]);
    items_clear(&e->items, &e->forest, slot);
    bound_dropped(e, slot);
    leave_slot(e, slot);
    engine_forget_input(e, e->items.at[slot].entry);
    if (e->items.at[slot].found != NULL) outbox_record_drop(&e->outbox, e->items.at[slot].found);
    e->items.at[slot].found = NULL;
    e->items.at[slot].request = NULL; /* it is gone, and whoever goes through a timestep's items sees that */
}

/* --- blanks ------------------------------------------------------------------------------------------------------- */

size_t rill_blank_bytes(const char *text, size_t left)
{
    const unsigned char *p = (const unsigned char *)text;
    if (left == 0) return 0;
    if (p[0] <= ' ' || p[0] == 0x7f) return 1;
    if (left < 2 || p[0] < 0xc2) return 0;
    if (p[0] == 0xd8) return p[1] == 0x9c ? 2 : 0;                 /* U+061C */
    if (p[0] == 0xc2) return p[1] >= 0x80 && p[1] <= 0xa0 ? 2 : 0; /* U+0080 to U+00A0 */
    if (left < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80) return 0;
    const unsigned code = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    const int spaces = (code >= 0x2000 && code <= 0x200f) || (code >= 0x2028 && code <= 0x202f) ||
                       (code >= 0x205f && code <= 0x206f);
    const int others = code == 0x1680 || code == 0x180e || code == 0x3000 || code == 0xfeff;
    return p[0] >= 0xe1 && p[0] <= 0xef && (spaces || others) ? 3 : 0;
}

static int is_blank(const char *text, size_t length)
{
    size_t at = 0, more = 1;
    for (; at < length && more > 0; at += more) more = rill_blank_bytes(text + at, length - at);
    return more > 0;
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

static rill_status start_item(rill_engine *e, const rill_input *input, int32_t entry)
{
    item *it = &e->items.at[input->slot];
    request *wants = e->intake.entries[entry].request;
    if (input->message[0] != '\0') RILL__TRY(intake_note(&e->intake, &e->intake.entries[entry], input->message));
    it->id = input->id;
    it->size = input->size;
    it->entry = entry;
    it->request = wants;
    it->found = NULL;
    it->settings = wants != NULL ? &wants->settings : &e->settings;
    it->instances = chain_of(&e->chain, wants);
    it->max_length = ending_length(it->settings, &e->info, input);
    return items_begin(&e->items, &e->forest, input->slot);
}

/* An input that cannot be decoded gets its result. */
static rill_status fail_entry(rill_engine *e, int32_t entry, rill_status status, const char *message)
{
    const intake_entry *in = &e->intake.entries[entry];
    RILL__TRY(engine_fail_input(e, in->id, in->request, status, message));
    engine_forget_input(e, entry);
    return RILL_OK;
}

/* One in which there is nothing gets its own. */
static rill_status answer_empty(rill_engine *e, int32_t entry)
{
    RILL__TRY(engine_answer_empty(e, &e->intake.entries[entry]));
    engine_forget_input(e, entry);
    return RILL_OK;
}

/* What a domain has made of what is the engine's, mended; and what it says of an input that cannot be. */
static rill_status check_input(rill_engine *e, int32_t i)
{
    const admission *a = &e->admission;
    const intake_entry *in = &e->intake.entries[a->entry[i]];
    rill_input *input = &a->input[i];
    const int kept = input->slot == a->slot[i] && input->id == in->id && input->text == in->text &&
                     input->length == in->length;
    input->slot = a->slot[i];
    input->message[sizeof input->message - 1] = '\0';
    if (!kept)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN,
                         "domain %s: encode wrote over the slot, the id or the text of input %lld", e->domain->name,
                         (long long)in->id);
    if (input->status >= 0 && (input->size < 0 || input->max_length < 0))
        return rill_fail(e->ctx, RILL_ERR_PLUGIN, "domain %s: encode gave input %lld the size %lld and the length %d",
                         e->domain->name, (long long)in->id, (long long)input->size, input->max_length);
    return RILL_OK;
}

/* What there is to be said against an input that was encoded: the bound's word, and the scorers'. RILL_AGAIN: it waits for the whole
 * bound. */
static rill_status settle_input(rill_engine *e, rill_input *input, int32_t entry)
{
    const rill_status fits = bound_encoded(e, input, e->intake.entries[entry].size);
    if (fits < 0) return fits;
    const rill_status status = engine_scorers_begin(e, input, entry);
    if (status < 0) bound_dropped(e, input->slot);
    return status < 0 ? status : fits;
}

/* Take the outcome of each encoded input: an item that is ready, or a result at once. */
static rill_status settle_inputs(rill_engine *e, int32_t n)
{
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < n; i++) {
        rill_input *input = &e->admission.input[i];
        int32_t entry = e->admission.entry[i];
        rill_status fits = RILL_OK, right = check_input(e, i);
        if (status >= 0) status = right;
        const int encoded = input->status >= 0 && input->status != RILL_EMPTY;
        if (!encoded)
            items_give_slot(&e->items, input->slot);
        else if ((fits = settle_input(e, input, entry)) < 0)
            leave_slot(e, input->slot);
        if (!encoded || input->status < 0) {
            if (status < 0) continue;
            status = input->status < 0 ? fail_entry(e, entry, input->status, input->message) : answer_empty(e, entry);
            continue;
        }
        if (status >= 0) status = start_item(e, input, entry);
        if (status >= 0 && fits == RILL_AGAIN) {
            bound_park(e, input->slot);
        } else if (status >= 0) {
            items_ready_last(&e->items, input->slot);
        } else {
            /* The run is over, but the domain has this slot filled and expects to hear of its end. */
            leave_slot(e, input->slot);
        }
    }
    return status;
}

/* Encode the next `count` waiting inputs in one call. Blank ones, and those that were bad when submitted, only get their results. */
static rill_status encode(rill_engine *e, int32_t count)
{
    admission *a = &e->admission;
    const rill_array columns[] = {RILL_ARRAY(a->input), RILL_ARRAY(a->entry), RILL_ARRAY(a->slot)};
    RILL__TRY(items_reserve(&e->items, count));
    RILL__TRY(flight_reserve(&e->flight, e->items.memory.capacity));
    RILL__TRY(rill_columns_grow(e->ctx, &a->memory, (size_t)count, columns, 3, "inputs"));
    RILL__TRY(engine_reserve_domain(e));
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t entry = intake_at(&e->intake, i);
        const intake_entry *in = &e->intake.entries[entry];
        if (in->failed < 0 || is_blank(in->text, in->length)) {
            RILL__TRY(in->failed < 0 ? fail_entry(e, entry, in->failed, in->text) : answer_empty(e, entry));
            continue;
        }
        a->entry[n] = entry;
        a->slot[n] = items_take_slot(&e->items);
        a->input[n] = (rill_input){.text = in->text,
                                   .length = in->length,
                                   .id = in->id,
                                   .size = in->size,
                                   .slot = a->slot[n],
                                   .options = in->request != NULL ? in->request->options.data : NULL};
        n++;
    }
    intake_take(&e->intake, count);
    statistics_lap(&e->statistics, &e->statistics.now.choose);
    rill_error_clear(e->ctx);
    rill_status status = n > 0 ? engine_domain_status(e, e->domain->encode(e->self, n, a->input), "encode") : RILL_OK;
    statistics_lap(&e->statistics, &e->statistics.now.encode);
    RILL__TRY(status);
    return settle_inputs(e, n);
}

/* --- refilling ---------------------------------------------------------------------------------------------------- */

/* Between the flush's start and the last item's end nothing is admitted. */
static int flush_in_progress(rill_engine *e)
{
    if (e->settings.flush_every == 0) return 0;
    if (e->flight.n == 0) {
        e->schedule.flushing = 0;
        e->schedule.flush_from = e->statistics.all.timesteps;
    } else if (e->statistics.all.timesteps - e->schedule.flush_from >= e->settings.flush_every) {
        e->schedule.flushing = 1;
    }
    return e->schedule.flushing;
}

static rill_status ask_policy(rill_engine *e, int32_t *admit, int32_t *ahead)
{
    rill_flight view = schedule_view(e);
    *admit = *ahead = 0;
    rill_error_clear(e->ctx);
    rill_status status = e->schedule.policy->refill(e->schedule.self, &view, admit);
    RILL__TRY(rill__method_status(e->ctx, status, "policy", e->schedule.policy->name, "refill"));
    int32_t room = e->settings.max_items - e->flight.n;
    if (*admit > room) *admit = room;
    if (*admit < 1 && e->flight.n == 0) *admit = room;
    int32_t fit = bound_admit(e, *admit), bounded = fit < *admit;
    *admit = fit;
    if (*admit > 0 && !bounded && e->schedule.policy->encode_ahead != NULL)
        *ahead = e->schedule.policy->encode_ahead(e->schedule.self, &view);
    if (*ahead < 0) *ahead = 0;
    return RILL_OK;
}

/* Paused items keep the states that their candidates continue: about two each, and a timestep's worth more, which a generous
 * budget must not blow up, and which a budget set step by step does not tell. Growing to that at once spares the domain
 * copying its tables over and over while a large flight starts. */
static rill_status expect_nodes(rill_engine *e, int32_t admit)
{
    if (e->info.state_need == RILL_STATE_PATH) return RILL_OK;
    enum { ROWS_PER_ITEM = 2 };
    int64_t waiting = engine_waiting(e);
    int32_t come = admit < waiting ? admit : (int32_t)waiting, grew;
    int64_t width = e->settings.k < ROWS_PER_ITEM ? e->settings.k : ROWS_PER_ITEM;
    int64_t paused = come * width, at_work = e->schedule.budget != NULL ? 0 : e->settings.budget;
    if (at_work > paused) at_work = paused;
    int64_t expected = paused + at_work, most = bound_free(e);
    return forest_reserve_nodes(&e->forest, expected < most ? expected : most, &grew);
}

/* Have up to `wanted` inputs in the intake, where others have them. */
static rill_status draw(rill_engine *e, int64_t wanted)
{
    engine_source *source = e->source;
    if (source == NULL || wanted <= e->intake.n || source->offered == 0) return RILL_OK;
    int64_t missing = wanted - e->intake.n, count = missing < source->offered ? missing : source->offered;
    source->offered -= (int32_t)count;
    return source->draw(source->user, e, (int32_t)count);
}

static void join_flight(rill_engine *e)
{
    int32_t slot = items_next_ready(&e->items);
    e->items.at[slot].expanded = e->statistics.all.expansions;
    flight_join(&e->flight, &e->items, slot, e->schedule.wave);
    tracing_item(&e->tracing, RILL_TRACE_ADMITTED, e->statistics.all.timesteps, slot, &e->items.at[slot], RILL_OK);
}

rill_status engine_admit(rill_engine *e)
{
    int32_t admit, ahead, admitted = 0;
    if (flush_in_progress(e) || engine_waiting(e) == 0) return RILL_OK;
    RILL__TRY(intake_seal(&e->intake, e->ctx));
    RILL__TRY(ask_policy(e, &admit, &ahead));
    if (admit > 0) RILL__TRY(expect_nodes(e, admit));
    while (admitted < admit && engine_waiting(e) > 0) {
        int32_t missing = admit - admitted;
        if (e->items.n_ready == 0) {
            int64_t wanted = (int64_t)missing + ahead;
            RILL__TRY(draw(e, wanted));
            if (e->intake.n == 0) break; /* others were faster */
            int32_t count = bound_encode(e, wanted < e->intake.n ? (int32_t)wanted : e->intake.n);
            if (count == 0) break;
            RILL__TRY(encode(e, count));
        }
        for (; admitted < admit && e->items.n_ready > 0; admitted++) join_flight(e);
    }
    if (admitted > 0) {
        /* Encoding tells of what expect_nodes() made room for; items that were encoded before came without. */
        RILL__TRY(engine_reserve_domain(e));
        e->statistics.all.refills++;
        e->schedule.wave++;
        e->admission.refill = admitted;
    }
    if (e->flight.n > e->statistics.all.items_peak) e->statistics.all.items_peak = e->flight.n;
    return RILL_OK;
}

/* As many as the last refill took. Those that are set aside want to have all memory for themselves. */
rill_status engine_encode_ahead(rill_engine *e)
{
    const int32_t wanted = e->admission.refill;
    if (e->info.group_rows == 0 || e->items.n_ready > 0 || e->bound.n_parked > 0 || e->schedule.flushing ||
        engine_waiting(e) == 0)
        return RILL_OK;
    RILL__TRY(intake_seal(&e->intake, e->ctx));
    RILL__TRY(draw(e, wanted));
    const int32_t count = bound_encode(e, wanted < e->intake.n ? wanted : e->intake.n);
    return count > 0 ? encode(e, count) : RILL_OK;
}
