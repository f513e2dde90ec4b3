/* Forms; see form.h. Source: the URL standard (url.spec.whatwg.org), section 5.1. */
#include "form.h"

#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decode a part in place. */
static json_t *decode(char *text, size_t n)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '%' && i + 2 < n && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
            text[to++] = (char)(digit(text[i + 1]) * 16 + digit(text[i + 2]));
            i += 2;
        } else {
            text[to++] = text[i] == '+' ? ' ' : text[i];
        }
    }
    return json_stringn(text, to);
}

/* 0: invalid text, or out of memory. */
static int add(json_t *form, char *part, size_t n)
{
    char *equals = memchr(part, '=', n);
    const size_t name = equals ? (size_t)(equals - part) : n;
    json_t *key = decode(part, name), *value = equals ? decode(equals + 1, n - name - 1) : json_string("");
    const char *word = json_string_value(key);
    int fine = key && value && strlen(word) == json_string_length(key);
    if (fine) {
        json_t *previous = json_object_get(form, word);
        if (!previous)
            fine = !json_object_set(form, word, value);
        else if (json_is_array(previous))
            fine = !json_array_append(previous, value);
        else
            fine = !json_object_set_new(form, word, json_pack("[O, O]", previous, value));
    }
    json_decref(key);
    json_decref(value);
    return fine;
}

json_t *form_read(const char *body, size_t length)
{
    json_t *form = json_object();
    char *copy = malloc(length + 1);
    int fine = form && copy;
    if (fine && length > 0) memcpy(copy, body, length);
    for (size_t offset = 0; fine && offset < length;) {
        const char *end = memchr(copy + offset, '&', length - offset);
        const size_t n = end ? (size_t)(end - copy) - offset : length - offset;
        if (n > 0) fine = add(form, copy + offset, n);
        offset += n + 1;
    }
    free(copy);
    if (fine) return form;
    json_decref(form);
    return NULL;
}
