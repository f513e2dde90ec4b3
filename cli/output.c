/* Writing results; see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double LINGER = 0.2; /* seconds a finished result may stay in the buffer */

int cli_output_open(cli_output *output, const char *path)
{
    int standard = !path || !strcmp(path, "-");
    memset(output, 0, offsetof(cli_output, data));
    output->name = standard ? "standard output" : path;
    output->fd = STDOUT_FILENO;
    if (!standard) {
        output->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (output->fd < 0) return cli_fail("%s: cannot be written: %s", path, strerror(errno));
        output->owned = 1;
    }
    output->terminal = isatty(output->fd);
    output->flushed_at = cli_now();
    return CLI_OK;
}

static int failed(cli_output *output, int error)
{
    output->error = error;
    output->closed = error == EPIPE;
    output->used = 0;
    return -1;
}

/* Standard output may have been made non-blocking by whoever shares it with us. */
static int wait_until_writable(const cli_output *output, int error)
{
    struct pollfd wanted = {.fd = output->fd, .events = POLLOUT};
    return (error == EAGAIN || error == EWOULDBLOCK) && poll(&wanted, 1, -1) > 0;
}

int cli_output_flush(cli_output *output)
{
    if (output->error) return -1;
    double start = cli_now();
    size_t done = 0;
    while (done < output->used) {
        ssize_t wrote = write(output->fd, output->data + done, output->used - done);
        if (wrote < 0 && (errno == EINTR || wait_until_writable(output, errno))) continue;
        if (wrote < 0) return failed(output, errno);
        done += (size_t)wrote;
    }
    output->used = 0;
    output->flushed_at = cli_now();
    output->seconds += output->flushed_at - start;
    return 0;
}

static int write_bytes(cli_output *output, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t room = CLI_OUTPUT_BUFFER - output->used;
        size_t part = length < room ? length : room;
        if (output->error) return -1;
        memcpy(output->data + output->used, bytes, part);
        output->used += part;
        bytes += part;
        length -= part;
        if (output->used == CLI_OUTPUT_BUFFER && cli_output_flush(output)) return -1;
    }
    return output->error ? -1 : 0;
}

int cli_output_write(cli_output *output, const char *bytes, size_t length)
{
    char piece[CLI_TERMINAL_PIECE];
    const char *end = bytes + length;
    if (!output->terminal) return write_bytes(output, bytes, length);
    while (bytes < end) {
        const size_t n = cli_terminal_text(&bytes, end, piece);
        if (write_bytes(output, piece, n)) return -1;
    }
    return output->error ? -1 : 0;
}

int cli_output_printf(cli_output *output, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text) return failed(output, EOVERFLOW);
    return cli_output_write(output, text, (size_t)length);
}

int cli_output_tick(cli_output *output)
{
    if (output->used == 0) return output->error ? -1 : 0;
    if (output->terminal || cli_now() - output->flushed_at > LINGER) return cli_output_flush(output);
    return 0;
}

int cli_output_close(cli_output *output)
{
    if (!output->name) return CLI_OK;
    cli_output_flush(output);
    /* close() is where a network file system tells that it could not keep what it took. */
    if (output->owned && close(output->fd) && !output->error) failed(output, errno);
    output->owned = 0;
    if (!output->error) return CLI_OK;
    if (output->closed) return CLI_CLOSED;
    if (!output->said) cli_say("%s: cannot be written: %s", output->name, strerror(output->error));
    output->said = 1;
    return CLI_FAILED;
}

/* Line in, line out, whatever a domain of someone else's puts into its text. */
static int write_one_line(cli_output *output, const char *text, size_t length)
{
    while (length > 0) {
        const char *newline = memchr(text, '\n', length);
        size_t part = newline ? (size_t)(newline - text) : length;
        cli_output_write(output, text, part);
        if (!newline) break;
        cli_output_write(output, " ", 1);
        text += part + 1;
        length -= part + 1;
    }
    return output->error ? -1 : 0;
}

static void write_extras(cli_output *output, const cli_extras *extras, const rill_output *o)
{
    for (int32_t i = 0; i < extras->fields; i++) {
        const char *field = rill_output_field(o, i);
        cli_output_write(output, " ||| ", 5);
        write_one_line(output, field, strlen(field));
    }
    if (!extras->word_scores) return;
    cli_output_printf(output, " ||| WordScores=");
    for (int32_t i = 0; i < o->n_actions; i++) cli_output_printf(output, " %.5f", (double)o->action_logp[i]);
}

static int write_nbest(cli_output *output, const cli_extras *extras, const rill_result *result)
{
    for (int32_t i = 0; i < result->n; i++) {
        const rill_output *o = &result->output[i];
        cli_output_printf(output, "%" PRId64 " ||| ", result->id);
        write_one_line(output, o->text, o->length);
        write_extras(output, extras, o);
        cli_output_printf(output, " ||| logp= %.9g length= %" PRId32 "%s ||| %.9g\n", o->logp, o->actions,
                          o->truncated ? " truncated= 1" : "", o->rank_score);
    }
    return output->error ? -1 : 0;
}

int cli_output_result(cli_output *output, cli_form form, const cli_extras *extras, const rill_result *result)
{
    if (form == CLI_FORM_NBEST) return write_nbest(output, extras, result);
    if (form == CLI_FORM_NUMBERED) cli_output_printf(output, "%" PRId64 "\t", result->id);
    if (result->n > 0) {
        write_one_line(output, result->output[0].text, result->output[0].length);
        write_extras(output, extras, &result->output[0]);
    }
    return cli_output_write(output, "\n", 1);
}
