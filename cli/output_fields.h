/* What is written beside outputs, as options, a run file or a request for it say (rill_output_table()). */
#ifndef CLI_OUTPUT_FIELDS_H
#define CLI_OUTPUT_FIELDS_H

#include "cli_output.h"
#include "session.h"

typedef struct cli_fields {
    const char *name[2]; /* for rill_engine_setup.fields */
    char alignment[64];
} cli_fields;

/* What options or the run file say of it, "" where it is a switch that is on; NULL: nothing. */
const char *cli_session_option(const cli_session *session, const char *name);
int cli_session_option_is_on(const cli_session *session, const char *name);

/* Have the domain add what is asked for: fills the plan's setup, which leads into `fields`, and `extras`. CLI_OK or CLI_FAILED. */
int cli_fields_request(cli_fields *fields, const cli_session *session, rill_search_config *search_config,
                       cli_extras *extras);

#endif
