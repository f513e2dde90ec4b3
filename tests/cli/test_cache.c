/* The response cache (cli/serve/cache.c): lookups return what was stored, the most recently used entries stay, and
 * the memory limit holds for any number of entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "serve.h"

static void keep(cache *c, int key, const char *answer)
{
    char text[32];
    const size_t n = (size_t)snprintf(text, sizeof text, "key %d", key);
    cache_add(c, text, n, answer);
}

static const char *find(cache *c, int key)
{
    char text[32];
    const size_t n = (size_t)snprintf(text, sizeof text, "key %d", key);
    return cache_find(c, text, n);
}

static void keep_number(cache *c, int key)
{
    char answer[32];
    snprintf(answer, sizeof answer, "answer %d", key);
    keep(c, key, answer);
}

static void is_number(cache *c, int key)
{
    char answer[32];
    const char *found = find(c, key);
    snprintf(answer, sizeof answer, "answer %d", key);
    assert_non_null(found);
    assert_string_equal(found, answer);
}

static void finds_what_was_kept(void **state)
{
    cache *c = cache_create(1 << 20);
    (void)state;
    assert_non_null(c);
    assert_null(find(c, 1));
    keep(c, 1, "one");
    keep(c, 2, "");
    assert_string_equal(find(c, 1), "one");
    assert_string_equal(find(c, 2), "");
    keep(c, 1, "another"); /* the first response stays: a response to a key never changes */
    assert_string_equal(find(c, 1), "one");
    assert_int_equal(cache_n_entries(c), 2);
    cache_destroy(c);
}

/* Keys are bytes: a key may contain a NUL, and a prefix of a key is another key. */
static void keys_are_bytes(void **state)
{
    static const char bytes[] = "a\0b";
    cache *c = cache_create(1 << 20);
    (void)state;
    for (size_t n = 1; n <= 3; n++) {
        const char answer[] = {(char)('0' + n), '\0'};
        cache_add(c, bytes, n, answer);
    }
    for (size_t n = 1; n <= 3; n++) {
        const char *found = cache_find(c, bytes, n);
        assert_non_null(found);
        assert_int_equal(found[0], '0' + n);
    }
    cache_add(c, "x", 1, "of x");
    cache_add(c, "y", 1, "of y");
    assert_string_equal(cache_find(c, "x", 1), "of x");
    assert_string_equal(cache_find(c, "y", 1), "of y");
    assert_null(cache_find(c, "z", 1));
    cache_destroy(c);
}

/* With many entries, each is found and can be dropped. */
static void many_entries(void **state)
{
    cache *c = cache_create(1 << 20);
    (void)state;
    for (int i = 0; i < 3000; i++) keep_number(c, i);
    assert_int_equal(cache_n_entries(c), 3000);
    for (int i = 0; i < 3000; i++) is_number(c, i);
    for (int i = 3000; i < 40000; i++) keep_number(c, i); /* more entries than the capacity holds */
    assert_true(cache_n_bytes(c) <= 1 << 20);
    assert_true(cache_n_bytes(c) > (1 << 20) - 1000);
    const int n = (int)cache_n_entries(c);
    assert_true(n > 3000 && n < 37000);
    for (int i = 0; i < 40000 - n; i++) assert_null(find(c, i));
    for (int i = 40000 - n; i < 40000; i++) is_number(c, i);
    cache_destroy(c);
}

/* The responses are long and of many lengths, so that a new one may replace several old ones. */
static void stays_within_its_bytes(void **state)
{
    enum { CAPACITY = 20000, LONG = 9000 };
    cache *c = cache_create(CAPACITY);
    char *answer = malloc(LONG + 1);
    (void)state;
    assert_non_null(answer);
    for (int i = 0; i < 2000; i++) {
        const size_t length = (size_t)(i * 7919 % LONG);
        memset(answer, 'a' + i % 26, length);
        answer[length] = '\0';
        keep(c, i, answer);
        assert_true(cache_n_bytes(c) <= CAPACITY);
        const char *found = find(c, i);
        assert_non_null(found);
        assert_string_equal(found, answer);
    }
    free(answer);
    cache_destroy(c);
}

static void drops_what_was_used_longest_ago(void **state)
{
    cache *c = cache_create(1000);
    int n = 0;
    (void)state;
    while (cache_n_entries(c) == (size_t)n) keep_number(c, n++); /* until adding an entry drops the first one */
    assert_true(n > 4);
    assert_null(find(c, 0));
    is_number(c, 1); /* a lookup of 1: now 2 is the one that was not used for longest */
    keep_number(c, n);
    is_number(c, 1);
    assert_null(find(c, 2));
    is_number(c, 3);
    cache_destroy(c);
}

static void keeps_nothing_too_large(void **state)
{
    char answer[600];
    cache *c = cache_create(500), *none = cache_create(0);
    (void)state;
    memset(answer, 'a', sizeof answer - 1);
    answer[sizeof answer - 1] = '\0';
    keep_number(c, 1);
    keep(c, 2, answer);
    assert_null(find(c, 2));
    is_number(c, 1); /* a response that is too large drops no other */
    keep_number(none, 1);
    assert_null(find(none, 1));
    assert_int_equal(cache_n_bytes(none), 0);
    assert_int_equal(cache_n_entries(none), 0);
    cache_destroy(none);
    cache_destroy(c);
    cache_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_kept),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(many_entries),
        cmocka_unit_test(stays_within_its_bytes),
        cmocka_unit_test(drops_what_was_used_longest_ago),
        cmocka_unit_test(keeps_nothing_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
