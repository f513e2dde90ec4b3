/* What is written beside outputs; fields.h. */
#include "fields.h"

#include <stdio.h>
#include <string.h>

const char *cli_said(const cli_session *session, const char *name)
{
    const rill_layer *const layers[] = {session->given, session->file};
    return rill_layers_get(layers, 2, name);
}

int cli_is_on(const cli_session *session, const char *name)
{
    const char *value = cli_said(session, name);
    return value && strcmp(value, "0") && strcmp(value, "false");
}

int cli_fields_want(cli_fields *fields, const cli_session *session, rill_search_config *plan, cli_extras *extras)
{
    int n = 0, length = 0;
    const char *alignment = cli_said(session, "alignment");
    if (alignment) {
        length = snprintf(fields->alignment, sizeof fields->alignment, "alignment%s%s", alignment[0] ? "=" : "",
                          alignment);
        fields->name[n++] = fields->alignment;
    }
    if (length >= (int)sizeof fields->alignment) return cli_fail("--alignment: the value is too long");
    if (cli_is_on(session, "unknown-names")) fields->name[n++] = "unknown";
    plan->setup.fields = fields->name;
    plan->setup.n_fields = extras->fields = n;
    extras->word_scores = cli_is_on(session, "word-scores");
    extras->ids = cli_is_on(session, "ids");
    return CLI_OK;
}
