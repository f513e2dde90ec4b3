/* Reads the models under tests/data and their expected results, made by tools/reference_NAME.py. */
#pragma once

#include <jansson.h>

/* A model and its expected results. */
typedef struct reference {
    char *path;       /* tests/data/NAME */
    json_t *expected; /* contents of expected.json */
    json_t *cases;    /* its list `cases`; NULL if there is none */
} reference;

/* Open tests/data/NAME; fails the test if its expected.json cannot be read. */
reference reference_open(const char *name);
void reference_close(reference *r);

/* Read the JSON file `name` of the directory, for the caller to free; fails the test if it cannot be read. */
json_t *reference_load(const char *folder, const char *name);

/* Return the strings of a list joined by spaces, malloc()ed. */
char *reference_text(const json_t *list);

/* Return words with their tags, as WORD_TAG joined by spaces; without tags if `tags` is null. */
char *reference_tagged(const json_t *words, const json_t *tags);
