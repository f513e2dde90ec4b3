/* English names of languages and scripts (ISO 639, ISO 15924), from language_names.json; see api.h. */
#include "api.h"

#include "trace.h"

static const cli_picture_file embedded[] = {
#include "language_names_json.h"
};

/* Return the name of a code; NULL: it has none. kind: "languages" or "scripts". */
static const char *find_name(const char *kind, const char *code)
{
    static json_t *names; /* parsed at the first call, and kept */
    if (!names) names = json_loadb(embedded[0].text, embedded[0].length, 0, NULL);
    return json_string_value(json_object_get(json_object_get(names, kind), code));
}

void language_name(const char *code, int with_script, char *out, size_t size)
{
    char language[64];
    snprintf(language, sizeof language, "%.*s", (int)strcspn(code, "_-"), code);
    const char *name = find_name("languages", language), *script = strpbrk(code, "_-");
    const char *script_name = script ? find_name("scripts", script + 1) : NULL;
    if (!name)
        snprintf(out, size, "%s", with_script ? code : language);
    else if (with_script && script && script[1])
        snprintf(out, size, "%s (%s)", name, script_name ? script_name : script + 1);
    else
        snprintf(out, size, "%s", name);
}
