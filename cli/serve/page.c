/* The page at /; see page.h. */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its own files, those of view/, the style first. */
static const struct {
    const char *name, *text;
    size_t length;
} page_files[] = {
#include "page_files.h"
#include "view_files.h"
};

static int is_of(const char *name, const char *ending)
{
    const size_t n = strlen(name), m = strlen(ending);
    return n > m && !strcmp(name + n - m, ending);
}

/* All files of a kind; the page's own script comes behind those that it uses. */
static void put_all(FILE *out, const char *ending, int own)
{
    for (size_t i = 0; i < sizeof page_files / sizeof *page_files; i++)
        if (is_of(page_files[i].name, ending) && (strncmp(page_files[i].name, "page.", 5) == 0) == own)
            fwrite(page_files[i].text, 1, page_files[i].length, out);
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
    put_all(out, ".css", 0);
    put_all(out, ".css", 1);
    fputs("</style>\n</head>\n<body>\n", out);
    put_all(out, ".html", 1);
    fputs("<script>\n", out);
    put_all(out, ".js", 0);
    put_all(out, ".js", 1);
    fputs("</script>\n</body>\n</html>\n", out);
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}
