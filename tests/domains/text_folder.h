/* A folder to put a tokenizer's files into, for tests of domains/text: those of tests/data/text, changed. */
#ifndef TEST_TEXT_FOLDER_H
#define TEST_TEXT_FOLDER_H

#include "helpers.h"
#include "text_families.h"
#include "tokenizer.h"

extern failing_allocator memory;
extern rill_context *ctx;
extern char *texts, *folder; /* the folder of folders; the one that is made for each test */

int text_folder_set_up(void **state);
int text_folder_tear_down(void **state);
#define CASE(name) cmocka_unit_test_setup_teardown(name, text_folder_set_up, text_folder_tear_down)

/* Copy the files of a folder of tests/data/text. */
void copy_folder(const char *name);
/* What a model of the type, with so many words, would ask of the copied folder. */
rill_tokenizer_files asked(const char *model_type);
/* It does not open, for this reason. */
void refuse(const rill_tokenizer_files *files, rill_status status, const char *sentence);
/* The tokens of an input, with spaces between, and how its output begins: by names. */
void reads(const rill_tokenizer *codec, const char *text, const char *pieces, const char *start, const char *first);

#endif
