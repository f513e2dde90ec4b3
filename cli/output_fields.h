/* Extra fields of outputs, as requested by options, a run file or a request (rill_output_table()). */
#ifndef CLI_OUTPUT_FIELDS_H
#define CLI_OUTPUT_FIELDS_H

#include "cli_output.h"
#include "session.h"

typedef struct cli_fields {
    const char *name[2]; /* names for rill_engine_setup.fields */
    char alignment[64];
} cli_fields;

/* Value of an option on the command line or in the run file, "" for a switch that is on; NULL: it is not set. */
const char *cli_session_option(const cli_session *session, const char *name);
int cli_session_option_is_on(const cli_session *session, const char *name);

/* Request the extra fields from the domain: sets fields of the search config's setup, which points into `fields`, and `extras`. CLI_OK
 * or CLI_FAILED after a message. */
int cli_fields_request(cli_fields *fields, const cli_session *session, rill_search_config *search_config,
                       cli_extras *extras);

#endif
