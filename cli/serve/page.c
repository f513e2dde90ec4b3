/* The web page at /; see page.h. */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

/* Files of this page; files of view/ are shared by all pages. */
static const cli_picture_file page_files[] = {
#include "page_files.h"
};

static void put(FILE *out, const cli_picture_file *files, size_t n, const char *ending)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(strrchr(files[i].name, '.'), ending)) fwrite(files[i].text, 1, files[i].length, out);
}

static void write_files(FILE *out, const char *ending)
{
    put(out, cli_picture_files, cli_picture_n_files, ending);
    put(out, page_files, sizeof page_files / sizeof *page_files, ending);
}

char *page_text(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>rill</title>\n<style>\n",
          out);
    write_files(out, ".css");
    fputs("</style>\n</head>\n<body>\n", out);
    write_files(out, ".html");
    fputs("<script>\n", out);
    write_files(out, ".js"); /* scripts come after the scripts that they use */
    fputs("</script>\n</body>\n</html>\n", out);
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}
