/* Extra fields of outputs; see output_fields.h. */
#include "output_fields.h"

#include <stdio.h>
#include <string.h>

const char *cli_session_option(const cli_session *session, const char *name)
{
    const rill_option_source *const sources[] = {session->command_line, session->run_file};
    return rill_option_sources_get(sources, 2, name);
}

int cli_session_option_is_on(const cli_session *session, const char *name)
{
    const char *value = cli_session_option(session, name);
    return value && strcmp(value, "0") && strcmp(value, "false");
}

int cli_fields_request(cli_fields *fields, const cli_session *session, rill_search_config *search_config,
                       cli_extras *extras)
{
    int n = 0, length = 0;
    const char *alignment = cli_session_option(session, "alignment");
    if (alignment) {
        length = snprintf(fields->alignment, sizeof fields->alignment, "alignment%s%s", alignment[0] ? "=" : "",
                          alignment);
        fields->name[n++] = fields->alignment;
    }
    if (length >= (int)sizeof fields->alignment) return cli_fail("--alignment: the value is too long");
    if (cli_session_option_is_on(session, "unknown-names")) fields->name[n++] = "unknown";
    search_config->setup->fields = fields->name;
    search_config->setup->n_fields = extras->fields = n;
    extras->has_word_scores = cli_session_option_is_on(session, "word-scores");
    extras->has_ids = cli_session_option_is_on(session, "ids");
    return CLI_OK;
}
