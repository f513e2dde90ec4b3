/* Forms; see http_server.h. */
#include "http_server.h"

/* --- fields of a form --------------------------------------------------------------------------------------------- */

/* Add a field; takes the reference to `value`. Returns 0 if out of memory or a text is not UTF-8. */
static int add_field(json_t *form, const char *name, json_t *value)
{
    json_t *previous = name ? json_object_get(form, name) : NULL;
    int fine = name && value;
    if (fine && !previous)
        fine = !json_object_set(form, name, value);
    else if (fine && json_is_array(previous))
        fine = !json_array_append(previous, value);
    else if (fine)
        fine = !json_object_set_new(form, name, json_pack("[O, O]", previous, value));
    json_decref(value);
    return fine;
}

/* State of reading a query or multipart form, and the field being read, whose value arrives in chunks. */
typedef struct form_reader {
    json_t *form;
    char *name, *value; /* name and value of the field; name NULL: no field yet */
    size_t length, capacity;
    int is_bad;
} form_reader;

/* --- query of the URL --------------------------------------------------------------------------------------------- */

static enum MHD_Result add_argument(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    form_reader *q = user;
    (void)kind;
    q->is_bad = !add_field(q->form, name, json_string(value ? value : ""));
    return q->is_bad ? MHD_NO : MHD_YES;
}

int form_add_query(json_t *form, struct MHD_Connection *connection)
{
    form_reader q = {.form = form};
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument, &q);
    return !q.is_bad;
}

/* --- application/x-www-form-urlencoded ---------------------------------------------------------------------------- */

/* Decode a name or value in place into a JSON string. Format: url.spec.whatwg.org, section 5.1. */
static json_t *decode(char *text)
{
    for (char *plus = text; (plus = strchr(plus, '+'));) *plus = ' ';
    const size_t n = MHD_http_unescape(text);
    return json_stringn(text, n);
}

static int add_part(json_t *form, char *part)
{
    json_auto_t *key = decode(strsep(&part, "="));
    const char *word = json_string_value(key);
    return word && strlen(word) == json_string_length(key) &&
           add_field(form, word, part ? decode(part) : json_string(""));
}

int form_add_urlencoded(json_t *form, char *body, size_t length)
{
    int fine = !length || !memchr(body, '\0', length);
    for (char *part; fine && (part = strsep(&body, "&"));) fine = !*part || add_part(form, part);
    return fine;
}

/* --- multipart/form-data ------------------------------------------------------------------------------------------ */

static void end_field(form_reader *m)
{
    if (m->name) m->is_bad |= !add_field(m->form, m->name, json_stringn(m->value ? m->value : "", m->length));
    free(m->name);
    m->name = NULL;
    m->length = 0;
}

static enum MHD_Result take_piece(void *user, enum MHD_ValueKind kind, const char *name, const char *file_name,
                                  const char *type, const char *encoding, const char *data, uint64_t offset,
                                  size_t size)
{
    form_reader *m = user;
    (void)kind, (void)file_name, (void)type, (void)encoding;
    if (offset == 0) {
        end_field(m);
        m->name = name ? strdup(name) : NULL;
    }
    m->is_bad |= !m->name || !cli_grow(&m->value, &m->capacity, m->length + size + 1, 1);
    if (m->is_bad) return MHD_NO;
    if (size > 0) memcpy(m->value + m->length, data, size);
    m->length += size;
    return MHD_YES;
}

int form_add_multipart(json_t *form, struct MHD_Connection *connection, const char *body, size_t length)
{
    enum { BUFFER_BYTES = 4096 };
    form_reader m = {.form = form};
    struct MHD_PostProcessor *parser = MHD_create_post_processor(connection, BUFFER_BYTES, take_piece, &m);
    if (!parser) return 0;
    int fine = MHD_post_process(parser, body, length) == MHD_YES;
    fine &= MHD_destroy_post_processor(parser) == MHD_YES;
    end_field(&m);
    free(m.value);
    return fine && !m.is_bad;
}
