/* See mt_reference.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "mt.h"
#include "mt_reference.h"

void mt_check(rill_context *ctx, rill_status status)
{
    if (status < RILL_OK) fail_msg("%s", rill_error(ctx));
}

json_t *mt_expected(const char *path)
{
    char *file = path_of(path, "expected.json");
    json_error_t error;
    json_t *expected = json_load_file(file, 0, &error);
    if (expected == NULL) fail_msg("%s: %s", file, error.text);
    free(file);
    return expected;
}

char *mt_pieces(const json_t *one)
{
    size_t i, length = 1;
    json_t *piece;
    json_array_foreach(json_object_get(one, "pieces"), i, piece) length += json_string_length(piece) + 1;
    char *text = calloc(length, 1);
    assert_non_null(text);
    json_array_foreach(json_object_get(one, "pieces"), i, piece)
    {
        if (i > 0) strcat(text, " ");
        strcat(text, json_string_value(piece));
    }
    return text;
}

void *mt_open(rill_context *ctx, const char *path, int threads, int tokenized, rill_domain_info *info)
{
    rill_open_options options = {
        .struct_size = sizeof options, .path = path, .threads = threads, .tokenized = tokenized};
    void *self;
    mt_check(ctx, rill_mt_domain.open(ctx, &options, &self, info));
    return self;
}
