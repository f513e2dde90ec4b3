/* C functions that Python's binding adds to librill. binding.py generates Python declarations from this file.
 *
 * A table of Python callbacks has a handle, which librill passes to them as `self`. Private to the package, not stable. */
#ifndef RILLPY_BINDING_H
#define RILLPY_BINDING_H

#include "rill/plugin.h"
#include "rill/rill.h"

enum { RILLPY_ABI_VERSION = RILL_ABI_VERSION }; /* an enum, because Python's binding cannot see macros */

typedef struct rillpy_heuristic {
    rill_heuristic table;
    void *handle;
} rillpy_heuristic;
typedef struct rillpy_scorer {
    rill_scorer table;
    void *handle;
} rillpy_scorer;
typedef struct rillpy_scheduler {
    rill_scheduler table;
    void *handle;
} rillpy_scheduler;
typedef struct rillpy_domain {
    rill_domain table;
    void *handle;
} rillpy_domain;

/* Initialise a table whose create() returns the handle as `self`. */
void rillpy_heuristic_init(rillpy_heuristic *out, void *handle);
void rillpy_scorer_init(rillpy_scorer *out, void *handle);
void rillpy_scheduler_init(rillpy_scheduler *out, void *handle);

/* Return the handle of a registered domain table, for its Python callbacks. */
void *rillpy_domain_handle(const rill_domain *table);

/* Record `text` as the context's error, even if it contains '%'. Returns status. */
rill_status rillpy_fail(rill_context *ctx, rill_status status, const char *text);
void rillpy_input_fail(rill_input *input, const char *text);

/* Copy the row's actions (hypothesis), oldest first, to `out`, at most `capacity`. Returns their number. */
int32_t rillpy_path(const rill_scorer_rows *rows, int32_t row, int32_t *out, int32_t capacity);

/* Modify several (row, action) pairs. what: 0 add, 1 scale, 2 ban, 3 allow; value: [n], unused by ban and allow.
 *   Returns as rill_modifiers_add(). */
rill_status rillpy_modify(rill_modifiers *modifiers, int32_t what, int32_t n, const int32_t *row, const int32_t *action,
                          const float *value);

/* The scorer "python-prefix": outputs must begin with the actions in a request's argument, "5 7 2". Forced actions count in the length,
 * not in the score. No effect without argument. */
const rill_scorer *rillpy_prefix(void);

/* The scorer "python-bias", with argument "SHARE ACTION:BIAS ACTION:BIAS ...". While a hypothesis is a prefix of these actions, all next
 * actions gain SHARE, and the sequence's next one BIAS. No effect without argument. */
const rill_scorer *rillpy_bias(void);

/* The scorer "python-ban": outputs contain none of the sequences "ACTION ACTION | ACTION ...". A leading "|" allows any first action,
 * because another scorer forces it. No effect without argument. */
const rill_scorer *rillpy_ban(void);

/* Append the names of n actions (an id if nameless) to `out`, and write the bytes of each to length [n].
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rillpy_names(const rill_model *model, int32_t n, const int32_t *action, int32_t *length, rill_text *out);

/* Fill the result of a score call for n rows. logp: [n, actions], C-contiguous, -inf for illegal actions; every: [actions] 0, 1, 2 ... */
void rillpy_fill_choices(const rill_score_request *request, int32_t n, int32_t actions, const int32_t *every,
                         const float *logp, rill_score_result *out);

#endif
