/* Stop criteria: when a hypothesis, an item and its beam end, by the item's settings. Pure functions without side effects. The rules are
 * steps 4, 6 and 7 of "One timestep of one item, exactly" in docs/algorithms.md, and docs/search.md. */
#ifndef RILL_STOP_CRITERIA_H
#define RILL_STOP_CRITERIA_H

#include "item.h"

/* Length limit of an input's hypotheses, in actions: the settings', within the domain's hard limit; by default the domain's. */
int32_t stop_max_length(const rill_settings *s, const rill_domain_info *info, const rill_input *input);
/* The end rule of the item's rows in the next timestep. */
rill_end_rule stop_end_rule(const item *it);
/* Whether the next timestep is the item's last: live hypotheses end after it. */
int stop_is_last_timestep(const item *it);

/* An output with its final score. `end`: its last action is an end action, or replaces one. */
item_output stop_make_output(const rill_settings *s, double score, int32_t hyp, int32_t length, int truncated, int end);

/* Limits on an item's children in the last phase, best first. */
typedef struct child_quota {
    int32_t max_children; /* children considered */
    int32_t max_live;     /* live children kept */
    /* ended children among the first max_output_pos become outputs; later ones are dropped ... */
    int32_t max_output_pos;
    /* ... unless this is set: only ended children before the first live one become outputs, others stay in the beam */
    int only_leading;
} child_quota;
child_quota stop_child_quota(const item *it);

/* How many of `width` candidates stay in the beam. */
int32_t stop_beam_width(const item *it, int32_t width);

/* Whether an item stops after a timestep, and which of its candidates become outputs. */
typedef enum stop_reason {
    STOP_NOT,
    STOP_ENOUGH,     /* no candidate becomes an output */
    STOP_OUTPUT_ALL, /* all candidates become outputs, in rank order; live ones are truncated */
    STOP_REQUESTED,  /* ended ones; live ones only if there is no output */
} stop_reason;

/* Precedence: enough outputs (the setting `stop`); nothing live, or the length limit; a heuristic's stop. Under at_limit "first" the
 * length limit comes first. `best_live`: the best score of a live candidate, RILL_SCORE_DEAD without one. */
stop_reason stop_check_item(const item *it, double best_live, int requested);

#endif
