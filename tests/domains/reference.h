/* What tests of the domains read of the models under tests/data, made by tools/reference_NAME.py. */
#ifndef TEST_DOMAINS_REFERENCE_H
#define TEST_DOMAINS_REFERENCE_H

#include <jansson.h>

/* A model and what is expected of it. */
typedef struct reference {
    char *path;       /* tests/data/NAME */
    json_t *expected; /* the whole of expected.json */
    json_t *cases;    /* its list of this name; NULL without one */
} reference;

/* Of the model tests/data/NAME; fails the test when its expected.json cannot be read. */
reference reference_open(const char *name);
void reference_close(reference *r);

/* The file `name` of the folder, for callers who free it; fails the test when it cannot be read. */
json_t *reference_load(const char *folder, const char *name);

/* The strings of a list with a blank between each two, malloc()ed. */
char *reference_text(const json_t *list);

/* The same of words with their tags, as WORD_TAG; of the words alone when `tags` is null. */
char *reference_tagged(const json_t *words, const json_t *tags);

#endif
