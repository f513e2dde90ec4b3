/* See reference.h. */
#include "reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"

json_t *reference_load(const char *path)
{
    return reference_load_file(path, "expected.json");
}

json_t *reference_load_file(const char *path, const char *name)
{
    char *file = path_of(path, name);
    json_error_t error;
    json_t *expected = json_load_file(file, 0, &error);
    if (expected == NULL) fail_msg("%s: %s", file, error.text);
    free(file);
    return expected;
}

char *reference_text(const json_t *list)
{
    size_t i, length = 1;
    json_t *word;
    json_array_foreach(list, i, word) length += json_string_length(word) + 1;
    char *text = calloc(length, 1);
    assert_non_null(text);
    json_array_foreach(list, i, word)
    {
        if (i > 0) strcat(text, " ");
        strcat(text, json_string_value(word));
    }
    return text;
}
