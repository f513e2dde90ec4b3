/* A directory with a tokenizer's files, for tests of domains/text: copies from tests/data/text, modified. */
#pragma once

#include "helpers.h"
#include "tokenizer.h"

extern failing_allocator memory;
extern rill_context *ctx;
extern char *texts, *folder; /* the folder tests/data/text; the folder made for each test */

int text_folder_set_up(void **state);
int text_folder_tear_down(void **state);
#define CASE(name) cmocka_unit_test_setup_teardown(name, text_folder_set_up, text_folder_tear_down)

/* Copy the files of a directory of tests/data/text. */
void copy_folder(const char *name);
/* Return the files that a model of this type and vocabulary size would need from the copied directory. */
rill_tokenizer_files required_files(const char *model_type);
/* Check that opening fails with this status and message. */
void refuse(const rill_tokenizer_files *files, rill_status status, const char *sentence);
/* Check the tokens of an input, joined by spaces, and the first token of its output. */
void reads(const rill_tokenizer *codec, const char *text, const char *subwords, const char *start, const char *first);
