/* See reference.h. */
#include "reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"

reference reference_open(const char *name)
{
    reference r = {.path = data_path(name)};
    r.expected = reference_load(r.path, "expected.json");
    r.cases = json_object_get(r.expected, "cases");
    return r;
}

void reference_close(reference *r)
{
    json_decref(r->expected);
    free(r->path);
}

json_t *reference_load(const char *folder, const char *name)
{
    char *file = join_path(folder, name);
    json_error_t error;
    json_t *expected = json_load_file(file, 0, &error);
    if (expected == NULL) fail_msg("%s: %s", file, error.text);
    free(file);
    return expected;
}

char *reference_text(const json_t *list)
{
    return reference_tagged(list, NULL);
}

char *reference_tagged(const json_t *words, const json_t *tags)
{
    size_t i, length = 1;
    json_t *word;
    json_array_foreach(words, i, word)
        length += json_string_length(word) + json_string_length(json_array_get(tags, i)) + 2;
    char *text = calloc(length, 1);
    assert_non_null(text);
    json_array_foreach(words, i, word)
    {
        if (i > 0) strcat(text, " ");
        strcat(text, json_string_value(word));
        if (json_is_array(tags)) strcat(strcat(text, "_"), json_string_value(json_array_get(tags, i)));
    }
    return text;
}
