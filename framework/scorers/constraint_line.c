/* Parsing constraint lines; rill/constraints.h. */
#include "rill/constraints.h"

#include "internal.h"

static const char PHRASE_SEPARATOR[] = " ||| ";
enum { PHRASE_SEPARATOR_LENGTH = sizeof PHRASE_SEPARATOR - 1 };

struct rill_constraints {
    rill_context *ctx;
    int32_t n;
    const char **arguments; /* [n] arguments in the current line */
    rill_text *text;        /* [n] storage of the arguments */
    char **name;            /* [n] names of the scorers */
};

const char *const *rill_constraint_names(void)
{
    static const char *const names[] = {"prefix", "ban", "allow", "require", NULL};
    return names;
}

void rill_constraints_free(rill_constraints *c)
{
    if (c == NULL) return;
    for (int32_t i = 0; i < c->n; i++) {
        if (c->text != NULL) rill_text_clear(&c->text[i]);
        if (c->name != NULL && c->name[i] != NULL) rill_free(c->ctx, c->name[i], strlen(c->name[i]) + 1);
    }
    rill_free(c->ctx, c->arguments, (size_t)c->n * sizeof *c->arguments);
    rill_free(c->ctx, c->text, (size_t)c->n * sizeof *c->text);
    rill_free(c->ctx, c->name, (size_t)c->n * sizeof *c->name);
    rill_free(c->ctx, c, sizeof *c);
}

static rill_status copy_names(rill_constraints *c, const rill_engine_setup *setup)
{
    for (int32_t i = 0; i < c->n; i++) {
        const size_t bytes = strlen(setup->scorers[i].name) + 1;
        c->text[i].ctx = c->ctx;
        c->name[i] = rill_alloc(c->ctx, bytes);
        if (c->name[i] == NULL) return rill_fail_memory(c->ctx, bytes, "names of scorers");
        memcpy(c->name[i], setup->scorers[i].name, bytes);
    }
    return RILL_OK;
}

rill_status rill_constraints_create(rill_constraints **out, rill_context *ctx, const rill_engine_setup *setup)
{
    const size_t n = (size_t)setup->n_scorers;
    rill_constraints *c = rill_calloc(ctx, 1, sizeof *c);
    *out = NULL;
    if (c == NULL) return rill_fail_memory(ctx, sizeof *c, "constraints");
    *c = (rill_constraints){.ctx = ctx,
                            .n = setup->n_scorers,
                            .arguments = rill_calloc(ctx, n, sizeof *c->arguments),
                            .text = rill_calloc(ctx, n, sizeof *c->text),
                            .name = rill_calloc(ctx, n, sizeof *c->name)};
    rill_status status = c->arguments == NULL || c->text == NULL || c->name == NULL
                             ? rill_fail_memory(ctx, n * sizeof *c->text, "constraints")
                             : copy_names(c, setup);
    if (status < 0) {
        rill_constraints_free(c);
        return status;
    }
    *out = c;
    return RILL_OK;
}

static rill_status add_constraint(rill_constraints *c, const char *part, size_t length)
{
    const char *colon = memchr(part, ':', length);
    if (colon == NULL)
        return rill_fail(c->ctx, RILL_ERR_INPUT, "constraints: expected NAME:TEXT, found \"%.*s\"",
                         (int)(length < 60 ? length : 60), part);
    const size_t name = (size_t)(colon - part), skip = name + 1;
    for (int32_t i = 0; i < c->n; i++) {
        if (strlen(c->name[i]) != name || memcmp(c->name[i], part, name) != 0) continue;
        if (c->arguments[i] != NULL)
            RILL__TRY(rill_text_append(&c->text[i], PHRASE_SEPARATOR, PHRASE_SEPARATOR_LENGTH));
        RILL__TRY(rill_text_append(&c->text[i], part + skip, length - skip));
        c->arguments[i] = ""; /* set, but empty until all parts are parsed, since texts move as they grow */
        return RILL_OK;
    }
    return rill_fail(c->ctx, RILL_ERR_INPUT, "constraints: this run has no scorer \"%.*s\"",
                     (int)(name < 60 ? name : 60), part);
}

rill_status rill_constraints_read(rill_constraints *c, const char *line, size_t length, const char *const **scorers)
{
    const char *end = line + length;
    *scorers = NULL;
    for (int32_t i = 0; i < c->n; i++) {
        c->arguments[i] = NULL;
        rill_text_reset(&c->text[i]);
    }
    while (line < end && *line == ' ') line++;
    if (line == end) return RILL_OK;
    for (const char *next; line != NULL; line = next != NULL ? next + PHRASE_SEPARATOR_LENGTH : NULL) {
        next = NULL;
        for (const char *pos = line; next == NULL && pos + PHRASE_SEPARATOR_LENGTH <= end; pos++)
            if (memcmp(pos, PHRASE_SEPARATOR, PHRASE_SEPARATOR_LENGTH) == 0) next = pos;
        RILL__TRY(add_constraint(c, line, (size_t)((next != NULL ? next : end) - line)));
    }
    for (int32_t i = 0; i < c->n; i++)
        if (c->arguments[i] != NULL) c->arguments[i] = c->text[i].data != NULL ? c->text[i].data : "";
    *scorers = c->arguments;
    return RILL_OK;
}
