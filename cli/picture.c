/* HTML pages with charts; see picture.h. */
#include "picture.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report.h"

const cli_picture_file cli_picture_files[] = {
#include "view_files.h"
};
const size_t cli_picture_n_files = sizeof cli_picture_files / sizeof *cli_picture_files;

int cli_picture_check(const char *option, const char *path)
{
    static const char *const kinds[] = {".svg", ".png", ".pdf"};
    const char *ending = path ? strrchr(path, '.') : NULL;
    for (size_t i = 0; ending && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcasecmp(ending, kinds[i]))
            return cli_fail("%s %s: expected the name of an HTML page, as in %.*s.html; its charts can be saved as "
                            "SVG in a browser",
                            option, path, (int)(ending - path), path);
    return CLI_OK;
}

/* Write `text` with `less` for "<" and `ampersand` for "&". In a script element, "<" could begin the end tag. */
static void put_text(cli_output *out, const char *text, const char *less, const char *ampersand)
{
    while (*text) {
        const size_t n = strcspn(text, "<&");
        cli_output_write(out, text, n);
        if (text[n]) cli_output_printf(out, "%s", text[n] == '<' ? less : ampersand);
        text += n + (text[n] != '\0');
    }
}

static int put_event(cli_output *out, const char *separator, const json_t *event, int digits)
{
    char *text = event ? json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(digits)) : NULL;
    if (!text) return cli_fail_memory("the page");
    cli_output_printf(out, "%s", separator);
    put_text(out, text, "\\u003c", "&");
    free(text);
    return CLI_OK;
}

int cli_picture_event(cli_output *out, const json_t *event, int digits)
{
    return put_event(out, ",\n", event, digits);
}

int cli_picture_begin(cli_output *out, const char *title)
{
    cli_output_printf(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                           "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    put_text(out, title, "&lt;", "&amp;");
    cli_output_printf(out, "</title>\n<style>\n");
    cli_output_write(out, cli_picture_files[0].text, cli_picture_files[0].length);
    cli_output_printf(out, "</style>\n</head>\n<body>\n<main id=\"pictures\"><noscript>This page draws its charts "
                           "with JavaScript, which is off.</noscript></main>\n"
                           "<script type=\"application/json\" id=\"events\">[");
    json_t *event = json_pack("{s:s,s:o}", "event", "page", "title", cli_json_text(title, strlen(title)));
    const int code = put_event(out, "\n", event, 1);
    json_decref(event);
    return code;
}

void cli_picture_end(cli_output *out)
{
    cli_output_printf(out, "\n]</script>\n<script>\n");
    for (size_t i = 1; i < cli_picture_n_files; i++)
        cli_output_write(out, cli_picture_files[i].text, cli_picture_files[i].length);
    cli_output_printf(out, "rillView.page(document.getElementById(\"pictures\"), "
                           "document.getElementById(\"events\"));\n</script>\n</body>\n</html>\n");
}

int cli_picture_write(cli_output *out, const char *title, const char *kind, json_t *object)
{
    int code = json_object_set_new(object, "event", json_string(kind)) < 0 ? cli_fail_memory("the page") : CLI_OK;
    if (code == CLI_OK) code = cli_picture_begin(out, title);
    if (code == CLI_OK) code = cli_picture_event(out, object, 17);
    if (code == CLI_OK)
        cli_picture_end(out);
    else
        cli_output_discard(out);
    return code;
}
