/* Parcels; parcel.h. */
#include "parcel.h"

#include <math.h>

/* What a parcel begins with. Of its pointers only `user` is one; whether others are NULL is what they tell. */
typedef struct head {
    rill_request asked;
    double at;
} head;

/* An argument is one of these bytes, and its text behind the second. */
enum { OWN = 0, GIVEN = 1 };

static rill_status pack_arguments(rill_text *out, const char *const *list, int32_t n)
{
    for (int32_t i = 0; list != NULL && i < n; i++) {
        char kind = list[i] == NULL ? OWN : GIVEN;
        RILL__TRY(rill_text_append(out, &kind, 1));
        if (kind == GIVEN) RILL__TRY(rill_text_append(out, list[i], strlen(list[i]) + 1));
    }
    return RILL_OK;
}

/* Settings of another size are refused when the request is made; of these no more is carried than says so. */
static size_t bytes_of(const rill_settings *s)
{
    return s->struct_size == sizeof *s ? sizeof *s : sizeof s->struct_size;
}

rill_status parcel_pack(rill_text *out, const rill_request *asked, const chain *c, double at)
{
    rill_text_reset(out);
    if (request_is_plain(asked)) return RILL_OK;
    head h = {*asked, at};
    RILL__TRY(rill_text_append(out, (const char *)&h, sizeof h));
    if (asked->settings != NULL)
        RILL__TRY(rill_text_append(out, (const char *)asked->settings, bytes_of(asked->settings)));
    if (asked->options != NULL) RILL__TRY(rill_text_append(out, asked->options, strlen(asked->options) + 1));
    RILL__TRY(pack_arguments(out, asked->heuristics, c->n_heuristics));
    return pack_arguments(out, asked->scorers, c->n_scorers);
}

/* The n arguments at *bytes, which moves behind them. */
static void unpack_arguments(const char **bytes, int32_t n, const char **list)
{
    for (int32_t i = 0; i < n; i++) {
        list[i] = *(*bytes)++ == GIVEN ? *bytes : NULL;
        if (list[i] != NULL) *bytes += strlen(*bytes) + 1;
    }
}

rill_status parcel_make(requests *all, const rill_model *model, chain *c, const char *bytes, request **out)
{
    head h;
    rill_settings settings;
    const size_t room = (size_t)c->n_heuristics + (size_t)c->n_scorers;
    const char **list = rill_alloc(all->ctx, room * sizeof *list);
    *out = NULL;
    if (list == NULL) return rill_fail_memory(all->ctx, room * sizeof *list, "a request");
    memcpy(&h, bytes, sizeof h);
    bytes += sizeof h;
    if (h.asked.settings != NULL) {
        memcpy(&settings.struct_size, bytes, sizeof settings.struct_size);
        const size_t given = bytes_of(&settings);
        memcpy(&settings, bytes, given);
        bytes += given;
        h.asked.settings = &settings;
    }
    if (h.asked.options != NULL) {
        h.asked.options = bytes;
        bytes += strlen(bytes) + 1;
    }
    if (h.asked.heuristics != NULL) {
        unpack_arguments(&bytes, c->n_heuristics, list);
        h.asked.heuristics = list;
    }
    if (h.asked.scorers != NULL) {
        unpack_arguments(&bytes, c->n_scorers, list + c->n_heuristics);
        h.asked.scorers = list + c->n_heuristics;
    }
    rill_status status = request_make_at(all, model, c, &h.asked, h.at, out);
    rill_free(all->ctx, list, room * sizeof *list);
    return status;
}

void *parcel_user(const char *bytes)
{
    head h;
    memcpy(&h, bytes, sizeof h);
    return h.asked.user;
}

double parcel_deadline(const char *bytes)
{
    head h;
    memcpy(&h, bytes, sizeof h);
    return h.asked.seconds > 0 ? h.at + h.asked.seconds : INFINITY;
}
