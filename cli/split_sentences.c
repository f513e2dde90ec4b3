/* Splitting inputs into sentences; see split_sentences.h. */
#include "split_sentences.h"

#include "utf8.h"

/* A line of the input while it is decoded. */
struct cli_split_line {
    cli_split_line **link, *next;
    void *user;        /* rill_request.user, as the wrapped reader set it */
    int64_t id, first; /* id: of the line; first: id that the engine gave to the line's first sentence */
    int64_t width;     /* width of the input's text; 0: no check for short outputs */
    int32_t n, n_done;
    size_t prefix_length; /* bytes of the text's prefix, which every sentence gets */
    char *text;           /* copy of the line's text; NULL if the line is not split */
    rill_settings settings;
    struct {
        size_t begin, length;
        rill_result result; /* deep copy of the sentence's result */
    } part[];               /* [n + 1] sentences; the last element marks the end of the line */
};

/* --- lines and their sentences ------------------------------------------------------------------------------------ */

static void free_result(rill_result *r)
{
    rill_output *output = (rill_output *)(uintptr_t)r->outputs;
    for (int32_t i = 0; output && i < r->n_outputs; i++) {
        free((char *)(uintptr_t)output[i].text);
        free((int32_t *)(uintptr_t)output[i].ids);
        free((float *)(uintptr_t)output[i].id_logps);
    }
    free(output);
    free((char *)(uintptr_t)r->message);
    free((char *)(uintptr_t)r->warning);
    *r = (rill_result){0};
}

static void free_line(cli_split_line *line)
{
    for (int32_t i = 0; line->n > 1 && i < line->n; i++) free_result(&line->part[i].result);
    *line->link = line->next;
    if (line->next) line->next->link = line->link;
    free(line->text);
    free(line);
}

static cli_split_line *add_line(cli_split *s, const rill_request *request, int32_t n)
{
    cli_split_line *line = calloc(1, sizeof *line + (size_t)(n + 1) * sizeof *line->part);
    char *text = line && n > 1 ? malloc(request->length) : NULL;
    if (!line || (n > 1 && !text)) {
        free(line);
        return NULL;
    }
    *line = (cli_split_line){.link = &s->pending,
                             .next = s->pending,
                             .user = request->user,
                             .id = s->n_lines,
                             .first = s->n_read,
                             .n = n,
                             .text = text};
    if (text) memcpy(text, request->text, request->length);
    if (line->next) line->next->link = &line->next;
    s->pending = line;
    s->n_lines++;
    return line;
}

int64_t cli_text_width(const char *text, size_t length)
{
    int64_t width = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        width += (c & 0xC0) == 0x80 ? 0 : c >= 0xE3 && c <= 0xED ? 3 : 1;
    }
    return width;
}

int cli_is_suspiciously_short(int64_t width, const rill_result *result)
{
    enum { MIN_CHECKED_WIDTH = 100, MAX_SHRINKAGE = 3 };
    if (width < MIN_CHECKED_WIDTH || result->n_outputs == 0) return 0;
    const rill_output *best = rill_result_output(result, 0);
    return cli_text_width(best->text, best->text_bytes) * MAX_SHRINKAGE < width;
}

int cli_can_split(rill_context *ctx, const rill_model *model)
{
    int32_t n;
    size_t head;
    return rill_model_split(model, ctx, 0, "", 0, NULL, 0, &n, &head) == RILL_OK;
}

int cli_split_start(cli_split *s, rill_context *ctx, const rill_model *model, const rill_settings *settings,
                    const char *mode, const char *conflict)
{
    s->ctx = s->text.ctx = ctx;
    s->model = model;
    s->settings = settings;
    s->always_splits = mode && !strcmp(mode, "sentences");
    s->cuts = !mode || !strcmp(mode, "auto") || s->always_splits;
    if (!s->cuts && strcmp(mode, "off")) return cli_fail("--split: \"%s\" is not auto, sentences or off", mode);
    if (s->always_splits && conflict) return cli_fail("--split sentences cannot be combined with %s", conflict);
    s->cuts = s->cuts && !conflict;
    s->is_on = cli_can_split(ctx, model);
    if (!s->is_on && s->always_splits) return cli_fail("--split sentences: %s", rill_error(ctx));
    rill_error_clear(ctx);
    return CLI_OK;
}

void cli_split_end(cli_split *s)
{
    while (s->pending) free_line(s->pending);
    free(s->part);
    if (s->ctx) rill_text_clear(&s->text);
}

/* --- reading and splitting lines ---------------------------------------------------------------------------------- */

/* Split the text of s->request; sets s->n as rill_model_split() does. */
static rill_status find_parts(cli_split *s)
{
    const rill_request *r = &s->request;
    const int always = s->always_splits;
    if (!s->cuts && r->length < 100) return RILL_OK;
    rill_status status = rill_model_split(s->model, s->ctx, always, r->text, r->length, s->part,
                                          (int32_t)s->part_capacity, &s->n, &s->prefix_length);
    if (status < 0 || (size_t)s->n <= s->part_capacity) return status;
    if (!cli_grow(&s->part, &s->part_capacity, (size_t)s->n, sizeof *s->part))
        return rill_fail_memory(s->ctx, (size_t)s->n * sizeof *s->part, "an input's sentences");
    return rill_model_split(s->model, s->ctx, always, r->text, r->length, s->part, (int32_t)s->part_capacity, &s->n,
                            &s->prefix_length);
}

static rill_status next_part(cli_split *s, rill_request *request)
{
    const rill_part *part = &s->part[s->part_index];
    *request = s->request;
    request->user = s->line;
    request->number += (int64_t)s->part_index << 32; /* each sentence draws different samples */
    rill_text_reset(&s->text);
    TRY(rill_text_append(&s->text, s->request.text, s->prefix_length));
    TRY(rill_text_append(&s->text, s->request.text + part->begin, part->length));
    request->text = s->text.data;
    request->length = s->text.length;
    s->part_index++;
    s->n_read++;
    return RILL_OK;
}

/* Register the line that was read, split into n sentences or whole. */
static rill_status take_line(cli_split *s, int32_t n)
{
    cli_split_line *line = s->line = add_line(s, &s->request, n);
    if (!line) return rill_fail_memory(s->ctx, s->request.length, "an input's line");
    if (s->request.number == 0) s->request.number = s->first + line->id + 1;
    line->prefix_length = s->prefix_length;
    for (int32_t i = 0; i < n && n > 1; i++) {
        line->part[i].begin = s->part[i].begin;
        line->part[i].length = s->part[i].length;
    }
    line->part[n].begin = s->request.length;
    if (n == 1) return RILL_OK;
    line->settings = s->request.settings ? *s->request.settings : *s->settings;
    if (rill_settings_resolve(s->ctx, &line->settings, 0) < 0)
        rill_error_clear(s->ctx); /* ignore the error here: each sentence reports it */
    s->n_split++;
    s->n_split_lists += line->settings.n_best > 1;
    return RILL_OK;
}

rill_status cli_split_read(void *user, int may_block, rill_request *request)
{
    cli_split *s = user;
    if (s->part_index < s->n) return next_part(s, request);
    s->n = s->part_index = 0;
    const rill_status status = s->read(s->user, may_block, request);
    if (status != RILL_OK && status != RILL_ERR_INPUT) return status;
    s->request = *request;
    rill_status taken = s->is_on && status == RILL_OK ? find_parts(s) : RILL_OK;
    const int32_t n = s->cuts && s->n > 1 ? s->n : 1;
    if (taken == RILL_OK && s->is_on) taken = take_line(s, n);
    if (taken == RILL_OK && s->is_on &&
        status == RILL_OK) /* the text of an input that failed is the context's message */
        s->line->width = cli_text_width(s->request.text, s->request.length);
    s->n = n > 1 ? n : 0;
    if (taken < 0) return taken;
    if (n > 1) return next_part(s, request);
    s->n_read++;
    *request = s->request;
    if (s->is_on) request->user = s->line;
    return status;
}

/* --- joining the outputs of a line -------------------------------------------------------------------------------- */

static void *copy_bytes(const void *from, size_t bytes, int *failed)
{
    void *to = malloc(bytes + 1);
    *failed |= !to;
    if (to && bytes) memcpy(to, from, bytes);
    if (to) ((char *)to)[bytes] = '\0';
    return to;
}

static int keep_result(rill_result *to, const rill_result *from)
{
    int failed = 0;
    *to = *from;
    to->message = copy_bytes(from->message, strlen(from->message), &failed);
    to->warning = copy_bytes(from->warning, strlen(from->warning), &failed);
    rill_output *output = calloc((size_t)from->n_outputs + 1, sizeof *output);
    to->outputs = (struct rill_outputs *)output;
    if (!output) to->n_outputs = 0;
    for (int32_t i = 0; i < to->n_outputs; i++) {
        output[i] = *rill_result_output(from, i);
        output[i].text = copy_bytes(output[i].text, output[i].text_bytes, &failed);
        output[i].ids = copy_bytes(output[i].ids, (size_t)output[i].n_ids * sizeof(int32_t), &failed);
        output[i].id_logps = copy_bytes(output[i].id_logps, (size_t)output[i].n_ids * sizeof(float), &failed);
    }
    return failed || !output;
}

/* Append the text between sentences i - 1 and i. White space becomes one space, or none at the ends of the line. */
static rill_status append_separator(const cli_split_line *line, int32_t i, rill_text *out)
{
    const size_t end = line->part[i].begin;
    const size_t begin = i > 0 ? line->part[i - 1].begin + line->part[i - 1].length : line->prefix_length;
    int space = 0, begun = out->length > 0;
    for (size_t offset = begin, next = begin; offset < end; offset = next) {
        const int32_t c = rill_utf8_read(line->text, end, &next);
        const int is_space = (c >= 0 && c <= ' ') || c == 0x85 || c == 0x2028 || c == 0x2029;
        if (!is_space && space && begun) TRY(rill_text_append(out, " ", 1));
        if (!is_space) TRY(rill_text_append(out, line->text + offset, next - offset));
        space = is_space;
        begun |= !is_space;
    }
    /* Sentences without a space between them get one only after an ASCII character, not after a Chinese full stop. */
    const int ascii = out->length > 0 && (unsigned char)out->data[out->length - 1] < 0x80;
    const int wanted = space || (begin == end && ascii);
    return wanted && begun && i < line->n ? rill_text_append(out, " ", 1) : RILL_OK;
}

static const rill_output *part_output(const cli_split_line *line, int32_t part, int32_t rank)
{
    const rill_result *r = &line->part[part].result;
    return rill_result_output(r, rank < r->n_outputs ? rank : r->n_outputs - 1);
}

/* Join output number `rank` of each sentence into *out, which owns the memory. */
static rill_status join_output(const cli_split *s, const cli_split_line *line, int32_t rank, rill_output *out)
{
    SCOPED(rill_text_clear) rill_text text = {.ctx = s->ctx};
    rill_status status = RILL_OK;
    int32_t n = 0;
    *out = (rill_output){.certified = 1};
    for (int32_t i = 0; i < line->n && status == RILL_OK; i++) {
        const rill_output *o = part_output(line, i, rank);
        status = append_separator(line, i, &text);
        if (status == RILL_OK) status = rill_text_append(&text, o->text, o->text_bytes);
        out->path_score += o->path_score;
        out->logp += o->logp;
        out->length += o->length;
        out->n_ids += o->n_ids;
        if (out->finish_reason == RILL_FINISH_REASON_STOP) out->finish_reason = o->finish_reason;
        out->certified &= o->certified;
    }
    out->score = rill_settings_final_score(&line->settings, out->path_score,
                                           line->settings.count_end ? out->n_ids : out->length);
    if (status == RILL_OK) status = append_separator(line, line->n, &text);
    int32_t *action = malloc((size_t)out->n_ids * sizeof *action + 1);
    float *logp = malloc((size_t)out->n_ids * sizeof *logp + 1);
    for (int32_t i = 0; i < line->n && action && logp; i++) {
        const rill_output *o = part_output(line, i, rank);
        memcpy(action + n, o->ids, (size_t)o->n_ids * sizeof *action);
        memcpy(logp + n, o->id_logps, (size_t)o->n_ids * sizeof *logp);
        n += o->n_ids;
    }
    out->ids = action;
    out->id_logps = logp;
    int failed = status < 0 || !action || !logp;
    out->text = copy_bytes(text.data ? text.data : "", text.length, &failed);
    out->text_bytes = text.length;
    return failed ? rill_fail_memory(s->ctx, 0, "an output of several sentences") : RILL_OK;
}

/* Join all outputs. If a sentence failed, the first failure is the result. */
static rill_status join_line(const cli_split *s, const cli_split_line *line, rill_result *out)
{
    int32_t n = 0, empty = 0;
    for (int32_t i = 0; i < line->n; i++) {
        const rill_result *r = &line->part[i].result;
        out->timed_out |= r->timed_out;
        if (r->warning[0] && !out->warning[0]) out->warning = r->warning;
        if (r->n_outputs > n) n = r->n_outputs;
        if (r->outputs_requested > out->outputs_requested) {
            out->outputs_requested = r->outputs_requested;
            out->fewer_reason = r->fewer_reason;
        }
        if (i == 0 || r->outputs_found < out->outputs_found) out->outputs_found = r->outputs_found;
        empty |= r->n_outputs == 0;
        if (r->status >= 0 || out->status < 0) continue;
        out->status = r->status;
        out->message = r->message;
    }
    if (out->status < 0 || empty) return RILL_OK;
    rill_output *output = calloc((size_t)n + 1, sizeof *output);
    out->outputs = (struct rill_outputs *)output;
    if (!output) return rill_fail_memory(s->ctx, (size_t)n * sizeof *output, "outputs of several sentences");
    while (out->n_outputs < n) {
        out->n_outputs++; /* counted even on failure, so that free_result() frees it */
        TRY(join_output(s, line, out->n_outputs - 1, &output[out->n_outputs - 1]));
    }
    return RILL_OK;
}

/* --- writing joined lines ----------------------------------------------------------------------------------------- */

static rill_status write_line(cli_split *s, cli_split_line *line, rill_result *result)
{
    s->n_lines_written++;
    s->n_too_short += cli_is_suspiciously_short(line->width, result);
    return s->write(s->user, result);
}

static rill_status write_joined(cli_split *s, cli_split_line *line, int32_t more)
{
    rill_result joined = {.struct_size = sizeof joined,
                          .id = line->id,
                          .user = line->user,
                          .has_more = more,
                          .message = "",
                          .warning = ""};
    rill_status status = join_line(s, line, &joined);
    if (status == RILL_OK) status = write_line(s, line, &joined);
    joined.message = joined.warning = NULL; /* not owned: static texts, or texts of a sentence's result */
    free_result(&joined);
    free_line(line);
    return status;
}

rill_status cli_split_write(void *user, const rill_result *result)
{
    cli_split *s = user;
    cli_split_line *line = result->user;
    if (!s->is_on) return s->write(s->user, result);
    s->n_results++;
    if (line->n > 1) {
        if (keep_result(&line->part[result->id - line->first].result, result))
            return rill_fail_memory(s->ctx, 0, "a sentence's outputs");
        return ++line->n_done < line->n ? RILL_OK : write_joined(s, line, result->has_more);
    }
    rill_result own = *result;
    own.id = line->id;
    own.user = line->user;
    const rill_status status = write_line(s, line, &own);
    free_line(line);
    return status;
}

void cli_split_warn(const cli_split *s)
{
    if (s->n_too_short)
        cli_message("warning: %" PRId64 " of %" PRId64
                    " outputs are shorter than a third of their inputs: text may be missing%s",
                    s->n_too_short, s->n_lines_written,
                    s->cuts ? "" : " (--split sentences decodes each sentence alone)");
    if (s->n_split_lists)
        cli_message("warning: %" PRId64 " of %" PRId64
                    " inputs were decoded sentence by sentence: output i of such an input joins "
                    "output i of each sentence (--split off decodes inputs whole)",
                    s->n_split, s->n_lines_written);
}
