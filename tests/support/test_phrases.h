/* Constraints of random phrases for the naive search: each is evaluated on the whole hypothesis, without state. */
#pragma once

#include <stddef.h>

#include "support/dice.h"
#include "support/naive_search.h"

typedef enum test_phrases_kind {
    TEST_PREFIX,
    TEST_BAN_PHRASES,
    TEST_ALLOW_SET,
    TEST_REQUIRE,
    TEST_PHRASE_KINDS
} test_phrases_kind;
extern const char *const test_phrases_names[TEST_PHRASE_KINDS];

enum { TEST_MAX_PHRASES = 4, TEST_MAX_PHRASE_LENGTH = 4 };

typedef struct test_phrases {
    test_phrases_kind kind;
    int32_t actions; /* number of actions of the model */
    int32_t end;     /* the model's end action, or -1; test_phrases_write() sets it */
    int32_t n;
    int32_t length[TEST_MAX_PHRASES];
    int32_t action[TEST_MAX_PHRASES][TEST_MAX_PHRASE_LENGTH];
} test_phrases;

/* Draw the kind and the phrases. `unbanked` 1: never TEST_REQUIRE, which divides the beam into constraint banks. */
void test_phrases_draw(test_phrases *c, int32_t actions, int unbanked, dice *d);
/* Write the scorer's arguments with the toy's action names. */
void test_phrases_write(test_phrases *c, int32_t end, char *out, size_t size);
/* The function naive_scorer.score of a constraint. user: a test_phrases. */
void test_phrases_score(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                        const naive_hypothesis *parent, naive_modifiers *modifiers);
