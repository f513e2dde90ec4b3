/* What tests of the domains read of the models under tests/data, made by tools/reference_NAME.py. */
#ifndef TEST_DOMAINS_REFERENCE_H
#define TEST_DOMAINS_REFERENCE_H

#include <jansson.h>

/* expected.json of the model at `path`; fails the test when it cannot be read. */
json_t *reference_load(const char *path);

/* The same of another file there. */
json_t *reference_load_file(const char *path, const char *name);

/* The strings of a list with a blank between each two, malloc()ed. */
char *reference_text(const json_t *list);

#endif
