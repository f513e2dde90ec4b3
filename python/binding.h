/* What Python's binding adds to librill. binding.py makes declarations for Python of this file, and binding.c has the bodies.
 *
 * A table of hooks carries a handle behind it, by which the functions in Python know what they stand for: `self` of a heuristic, scorer or
 * policy in Python is the handle of its table. Stability: none, this is the package's own. */
#ifndef RILLPY_BINDING_H
#define RILLPY_BINDING_H

#include "rill/plugin.h"
#include "rill/rill.h"

enum { RILLPY_ABI_VERSION = RILL_ABI_VERSION }; /* a macro is nothing that Python could see */

typedef struct rillpy_heuristic {
    rill_heuristic table;
    void *handle;
} rillpy_heuristic;
typedef struct rillpy_scorer {
    rill_scorer table;
    void *handle;
} rillpy_scorer;
typedef struct rillpy_policy {
    rill_scheduler table;
    void *handle;
} rillpy_policy;
typedef struct rillpy_domain {
    rill_domain table;
    void *handle;
} rillpy_domain;

/* Have create() of the table give the handle. */
void rillpy_heuristic_init(rillpy_heuristic *out, void *handle);
void rillpy_scorer_init(rillpy_scorer *out, void *handle);
void rillpy_policy_init(rillpy_policy *out, void *handle);

/* The handle of a domain's table, where it was registered. */
void *rillpy_domain_handle(const rill_domain *table);

/* What ctx records as the failure: `text`, whatever is in it. Returns status. */
rill_status rillpy_fail(rill_context *ctx, rill_status status, const char *text);
void rillpy_input_fail(rill_input *input, const char *text);

/* The actions of row `row` of a scorer's, oldest first: returns how many there are, and the first `room` are in out. */
int32_t rillpy_path(const rill_scorer_rows *rows, int32_t row, int32_t *out, int32_t room);

/* Say something of several (row, action) pairs. what: 0 add, 1 scale, 2 ban, 3 allow; value [n], not read by the last two.
 *   as rill_modifiers_add() */
rill_status rillpy_say(rill_modifiers *ask, int32_t what, int32_t n, const int32_t *row, const int32_t *action,
                       const float *value);

/* The scorer "python-prefix" of requests whose argument is numbers of actions, "5 7 2": outputs begin with these, which count in their
 * length and not in their scores. Without an argument it says nothing. Its table. */
const rill_scorer *rillpy_prefix(void);

/* The scorer "python-bias" of requests whose argument is "SHARE ACTION:BIAS ACTION:BIAS ...": while a hypothesis is the beginning of these
 * actions, all its choices have SHARE added, and the next of the actions its BIAS too. Without an argument it says nothing. Its table. */
const rill_scorer *rillpy_bias(void);

/* Write the names of actions to `out`, one behind the other, and how many bytes each has to length [n]; of one that has none, its number.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rillpy_names(const rill_model *model, int32_t n, const int32_t *action, int32_t *length, rill_text *out);

/* Answer all rows of a score call from a table of log-probabilities [n, actions], C-contiguous: actions that are not legal are -inf. */
void rillpy_answer(const rill_score_request *ask, int32_t n, int32_t actions, const int32_t *every, const float *logp,
                   rill_score_result *out);

#endif
