/* Packed requests; packed_request.h. */
#include "packed_request.h"

#include <math.h>

/* The beginning of a packed request. Its pointers to data other than `user` are invalid: they only say, by being NULL or
 * not, which parts follow. */
typedef struct packed_head {
    rill_request request;
    double start_time;
} packed_head;

/* First byte of a packed argument. DEFAULT_ARGUMENT: the setup's argument applies; OWN_ARGUMENT: a NUL-terminated text
 * follows. */
enum { DEFAULT_ARGUMENT = 0, OWN_ARGUMENT = 1 };

static rill_status pack_arguments(rill_text *out, const char *const *list, int32_t n)
{
    for (int32_t i = 0; list != NULL && i < n; i++) {
        char kind = list[i] == NULL ? DEFAULT_ARGUMENT : OWN_ARGUMENT;
        RILL__TRY(rill_text_append(out, &kind, 1));
        if (kind == OWN_ARGUMENT) RILL__TRY(rill_text_append(out, list[i], strlen(list[i]) + 1));
    }
    return RILL_OK;
}

/* Settings with an impossible struct_size are packed as zeros with that struct_size, so that request_create_at() refuses
 * the request. */
static rill_status pack_settings(rill_text *out, const rill_settings *settings)
{
    rill_settings own = {0};
    if (settings == NULL) return RILL_OK;
    if (rill__settings_copy(NULL, &own, settings) < 0) own.struct_size = settings->struct_size;
    return rill_text_append(out, (const char *)&own, sizeof own);
}

rill_status packed_request_write(rill_text *out, const rill_request *req, const chain *c, double start_time)
{
    rill_text_reset(out);
    if (request_is_text_only(req)) return RILL_OK;
    packed_head h = {*req, start_time};
    RILL__TRY(rill_text_append(out, (const char *)&h, sizeof h));
    RILL__TRY(pack_settings(out, req->settings));
    if (req->input_options != NULL)
        RILL__TRY(rill_text_append(out, req->input_options, strlen(req->input_options) + 1));
    RILL__TRY(pack_arguments(out, req->heuristics, c->n_heuristics));
    return pack_arguments(out, req->scorers, c->n_scorers);
}

/* Unpack n arguments from *bytes, which is advanced past them. */
static void unpack_arguments(const char **bytes, int32_t n, const char **list)
{
    for (int32_t i = 0; i < n; i++) {
        list[i] = *(*bytes)++ == OWN_ARGUMENT ? *bytes : NULL;
        if (list[i] != NULL) *bytes += strlen(*bytes) + 1;
    }
}

rill_status packed_request_read(requests *all, const rill_model *model, chain *c, const char *bytes, request **out)
{
    packed_head h;
    rill_settings settings;
    const size_t capacity = (size_t)c->n_heuristics + (size_t)c->n_scorers;
    const char **list = rill_alloc(all->ctx, capacity * sizeof *list);
    *out = NULL;
    if (list == NULL) return rill_fail_memory(all->ctx, capacity * sizeof *list, "a request");
    memcpy(&h, bytes, sizeof h);
    bytes += sizeof h;
    if (h.request.settings != NULL) {
        memcpy(&settings, bytes, sizeof settings);
        bytes += sizeof settings;
        h.request.settings = &settings;
    }
    if (h.request.input_options != NULL) {
        h.request.input_options = bytes;
        bytes += strlen(bytes) + 1;
    }
    if (h.request.heuristics != NULL) {
        unpack_arguments(&bytes, c->n_heuristics, list);
        h.request.heuristics = list;
    }
    if (h.request.scorers != NULL) {
        unpack_arguments(&bytes, c->n_scorers, list + c->n_heuristics);
        h.request.scorers = list + c->n_heuristics;
    }
    rill_status status = request_create_at(all, model, c, &h.request, h.start_time, out);
    rill_free(all->ctx, list, capacity * sizeof *list);
    return status;
}

void *packed_request_user(const char *bytes)
{
    packed_head h;
    memcpy(&h, bytes, sizeof h);
    return h.request.user;
}

double packed_request_deadline(const char *bytes)
{
    packed_head h;
    memcpy(&h, bytes, sizeof h);
    return h.request.timeout > 0 ? h.start_time + h.request.timeout : INFINITY;
}
