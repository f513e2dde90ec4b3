/* What tests of domains/mt read from tests/data/mt, made by tools/reference_mt.py. */
#ifndef TEST_DOMAINS_MT_REFERENCE_H
#define TEST_DOMAINS_MT_REFERENCE_H

#include <jansson.h>

#include "rill/domain.h"

/* expected.json of the model at `path`; fails the test when it cannot be read. */
json_t *mt_expected(const char *path);

/* The pieces of a case between blanks, malloc()ed. */
char *mt_pieces(const json_t *one);

/* The domain opened on its own, and as the engine would. Fails the test with the error's sentence. */
void *mt_open(rill_context *ctx, const char *path, int threads, int tokenized, rill_domain_info *info);

/* Fails the test with the error's sentence. */
void mt_check(rill_context *ctx, rill_status status);

#endif
