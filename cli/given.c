/* Pairs of inputs and outputs; see given.h. */
#include "given.h"

#include "nbest.h"

#include <stdlib.h>
#include <string.h>

int cli_given_open(cli_given_outputs *given, rill_context *ctx, const char *inputs, const char *outputs)
{
    given->ctx = ctx;
    given->form = outputs ? CLI_GIVEN_UNKNOWN : CLI_GIVEN_COLUMNS;
    int code = cli_input_open(&given->inputs, ctx, inputs, RILL_FILE_STREAM);
    if (code == CLI_OK && outputs) code = cli_input_open(&given->outputs, ctx, outputs, RILL_FILE_STREAM);
    return code;
}

void cli_given_close(cli_given_outputs *given)
{
    cli_input_close(&given->inputs);
    cli_input_close(&given->outputs);
    while (given->pairs) cli_pair_free(given->pairs);
    free(given->line);
    given->waiting = NULL;
    given->line = NULL;
}

void cli_pair_free(cli_pair *pair)
{
    if (!pair) return;
    *pair->link = pair->next;
    if (pair->next) pair->next->link = pair->link;
    free(pair);
}

/* list: the n-best line of the text; NULL: not from a list. */
static rill_status make_pair(cli_given_outputs *given, int64_t id, const char *text, size_t length,
                             const cli_nbest *list, cli_pair **out)
{
    const cli_field kept = list ? list->kept : (cli_field){"", 0};
    const size_t size = sizeof(cli_pair) + length + kept.length + 2;
    cli_pair *pair = malloc(size);
    if (!pair) return rill_fail_memory(given->ctx, size, "an output");
    char *copy = (char *)(pair + 1);
    *pair = (cli_pair){.id = id, .text = copy, .kept = copy + length + 1};
    pair->next = given->pairs;
    pair->link = &given->pairs;
    if (pair->next) pair->next->link = &pair->next;
    given->pairs = pair;
    memcpy(copy, text, length);
    copy[length] = '\0';
    memcpy(copy + length + 1, kept.text, kept.length);
    copy[length + 1 + kept.length] = '\0';
    pair->truncated = list && list->truncated;
    *out = pair;
    return RILL_OK;
}

/* Parse a line of outputs. RILL_ERR_INPUT with *message if the line does not fit the format. */
static rill_status take_output(cli_given_outputs *given, const char *line, size_t length, cli_pair **pair,
                               const char **message)
{
    cli_nbest list;
    const int is_list = cli_nbest_read(line, length, &list);
    if (given->form == CLI_GIVEN_UNKNOWN) given->form = is_list ? CLI_GIVEN_LIST : CLI_GIVEN_LINES;
    if (given->form == CLI_GIVEN_LINES) {
        size_t start = 0;
        while (start < length && (line[start] == ' ' || line[start] == '\t')) start++;
        if (!cli_nbest_read(line + start, length - start, &list))
            return make_pair(given, given->n_read, line, length, NULL, pair);
        *message =
            "the line is of an n-best list, but the first line is not: expected all lines to begin with \"ID ||| \"";
        return RILL_ERR_INPUT;
    }
    if (!is_list) {
        *message = "expected a line of an n-best list, \"ID ||| OUTPUT ||| ...\"";
        return RILL_ERR_INPUT;
    }
    if (list.id < given->n_read - 1) {
        *message = "the id is smaller than an earlier one: expected lists in the order of the inputs";
        return RILL_ERR_INPUT;
    }
    return make_pair(given, list.id, list.field[1].text, list.field[1].length, &list, pair);
}

/* Copy the input text, since further lines of an n-best list may have the same input. */
static rill_status keep_line(cli_given_outputs *given, const char *text, size_t length)
{
    if (length >= given->capacity) {
        char *line = realloc(given->line, 2 * length + 64);
        if (!line) return rill_fail_memory(given->ctx, 2 * length + 64, "an input");
        given->line = line;
        given->capacity = 2 * length + 64;
    }
    memcpy(given->line, text, length);
    given->line[length] = '\0';
    given->length = length;
    return RILL_OK;
}

/* Read inputs up to the input of given->waiting, the output that was read last. */
static rill_status reach_input(cli_given_outputs *given, int may_block, const char **message)
{
    const char *text = NULL;
    size_t length = 0;
    while (given->n_read <= given->waiting->id) {
        const rill_status status = cli_input_read(&given->inputs, may_block, &text, &length);
        if (status == RILL_END_OF_INPUT) {
            *message = "no input has this id";
            return RILL_ERR_INPUT;
        }
        if (status != RILL_OK && status != RILL_ERR_INPUT) return status;
        given->line_status = status;
        given->without += given->n_read > 0 && !given->used;
        given->used = 0;
        given->n_read++;
        const rill_status kept = keep_line(given, text, length);
        if (kept < 0) return kept;
    }
    *message = given->line;
    return given->line_status;
}

/* The outputs have ended: count the remaining inputs, which have no output. */
static rill_status read_rest(cli_given_outputs *given, int may_block)
{
    const char *text;
    size_t length;
    rill_status status;
    while ((status = cli_input_read(&given->inputs, may_block, &text, &length)) == RILL_OK ||
           status == RILL_ERR_INPUT) {
        given->without += given->n_read == 0 || given->used ? 0 : 1;
        given->used = 0;
        given->n_read++;
    }
    if (status != RILL_END_OF_INPUT) return status;
    given->without += given->n_read > 0 && !given->used;
    given->used = 1; /* a second call must not count it again */
    return RILL_END_OF_INPUT;
}

static rill_status read_columns(cli_given_outputs *given, int may_block, cli_pair **pair, const char **text,
                                size_t *length)
{
    const rill_status status = cli_input_read(&given->inputs, may_block, text, length);
    if (status != RILL_OK) return status;
    const int64_t id = given->n_read++;
    const char *tab = memchr(*text, '\t', *length);
    if (!tab) {
        *text = "expected \"INPUT<TAB>OUTPUT\": set a file of outputs with --outputs";
        *length = strlen(*text);
        return RILL_ERR_INPUT;
    }
    const size_t input = (size_t)(tab - *text);
    const rill_status made = make_pair(given, id, tab + 1, *length - input - 1, NULL, pair);
    *length = input;
    return made;
}

rill_status cli_given_read(cli_given_outputs *given, int may_block, cli_pair **pair, const char **text, size_t *length)
{
    const char *line = NULL;
    size_t n = 0;
    *pair = NULL;
    if (given->form == CLI_GIVEN_COLUMNS) return read_columns(given, may_block, pair, text, length);
    rill_status status = RILL_OK;
    if (!given->waiting) {
        status = cli_input_read(&given->outputs, may_block, &line, &n);
        *text = line;
        if (status == RILL_END_OF_INPUT) return read_rest(given, may_block);
        if (status == RILL_OK) status = take_output(given, line, n, &given->waiting, text);
    }
    if (status == RILL_OK) status = reach_input(given, may_block, text);
    if (status == RILL_AGAIN || (status < 0 && status != RILL_ERR_INPUT)) return status;
    given->used = 1;
    *length = status == RILL_OK ? given->length : *text ? strlen(*text) : 0;
    *pair = given->waiting;
    given->waiting = NULL;
    return status;
}
