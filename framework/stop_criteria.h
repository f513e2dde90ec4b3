/* Ending: when a hypothesis, an item and its beam come to an end, by the item's settings. Pure functions: they look at what they
 * are given and change nothing. The rules are steps 4, 6 and 7 of "One timestep of one item, exactly" in docs/algorithms.md, and
 * docs/search.md. */
#ifndef RILL_STOP_CRITERIA_H
#define RILL_STOP_CRITERIA_H

#include "item.h"

/* Most actions of an input's hypotheses: what the settings ask for, within what the domain can do; else what the domain says. */
int32_t stop_max_length(const rill_settings *s, const rill_domain_info *info, const rill_input *input);
/* What a row of the item may do about ending in the timestep that comes. */
rill_end_rule stop_end_rule(const item *it);
/* The timestep that comes is the item's last one: what is live after it ends. */
int stop_is_last_timestep(const item *it);

/* An output, with its rank. `end`: its last action is an end action, or stands for one. */
item_output stop_make_output(const rill_settings *s, double score, int32_t hyp, int32_t length, int truncated, int end);

/* How an item's children are taken in the last phase, best first. */
typedef struct child_quota {
    int32_t max_children;   /* children looked at */
    int32_t max_live;       /* no more than so many live ones stay */
    int32_t max_output_pos; /* ended ones among the first so many leave for the outputs; later ones are dropped ... */
    int only_leading;       /* ... but not here: the leading run of ended ones leaves, others stay and wait */
} child_quota;
child_quota stop_child_quota(const item *it);

/* How many of `width` candidates stay in the beam. */
int32_t stop_beam_width(const item *it, int32_t width);

/* Why an item stops after the timestep whose candidates are known, and what is output of them. */
typedef enum stop_reason {
    STOP_NOT,
    STOP_ENOUGH,     /* nothing more */
    STOP_OUTPUT_ALL, /* all in rank order, live ones as truncated */
    STOP_REQUESTED,  /* the ended ones; the live ones only if there is no output at all */
} stop_reason;

/* Order of the rules: enough outputs (by the setting `stop`); nothing live, or the length limit; a heuristic's wish. At the limit
 * "first" the limit comes before all. `best_live`: the best score of a live candidate, RILL_SCORE_DEAD without one. */
stop_reason stop_check_item(const item *it, double best_live, int requested);

#endif
