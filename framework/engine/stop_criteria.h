/* Stop criteria: when a hypothesis may end, when it leaves the beam, and when an item stops, by the item's settings. All
 * functions are pure. The rules are steps 4, 6 and 7 of "One timestep of one item, exactly" in docs/algorithms.md, and
 * docs/search.md. */
#ifndef RILL_STOP_CRITERIA_H
#define RILL_STOP_CRITERIA_H

#include "item.h"

/* Length limit of an input's hypotheses, in actions: from the settings, else from the input, else from the domain; at
 * most the domain's max_positions. */
int32_t stop_max_length(const rill_settings *s, const rill_domain_info *info, const rill_input *input);
/* The end rule of the item's rows in the next timestep. */
rill_end_rule stop_end_rule(const item *it);
/* Whether the next timestep is the item's last: live hypotheses end after it. */
int stop_is_last_timestep(const item *it);

/* An output with its final score, from its path score. `end`: it has an end action, or counts as if it had one (at_limit
 * "end-free"). */
item_output stop_make_output(const rill_settings *s, double score, int32_t hyp, int32_t length, int truncated, int end);

/* Record that the item abandons candidate j, ended or live (item_abandon_path()). */
void stop_abandon_candidate(const candidates *c, item *it, int32_t j);

/* Limits for merging an item's children, in rank order, in the last phase of a timestep. */
typedef struct child_quota {
    int32_t max_children; /* children considered */
    int32_t max_live;     /* live children kept */
    /* ended children among the first max_output_pos become outputs, later ended ones are dropped; not with only_leading */
    int32_t max_output_pos;
    /* 1: ended children before the first live child become outputs, later ended ones stay in the beam */
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
    STOP_REQUESTED,  /* ended candidates become outputs; live ones only if the item has no output */
} stop_reason;

/* Decide whether an item stops. Criteria in order of precedence: enough outputs (the setting `stop`); no live candidate, or
 * the length limit; a heuristic's stop (`requested`). Under at_limit "first" the length limit comes first. `best_live`: the
 * best path score of a live candidate; RILL_SCORE_DEAD: none is live. */
stop_reason stop_check_item(const item *it, double best_live, int requested);

#endif
