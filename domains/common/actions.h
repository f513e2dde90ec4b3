/* actions.h: from texts to actions, for what rill_domain.tokenize is asked.
 *
 * Any number of threads may ask at once: nothing here keeps anything. Stability: internal to rill. */
#ifndef RILL_COMMON_ACTIONS_H
#define RILL_COMMON_ACTIONS_H

#include "rill/context.h"

/* Where actions go, the first `room` of n; and who asks which model, for those who take words or pieces. */
typedef struct rill_actions {
    void *model;
    rill_context *ctx;
    int32_t *action;
    int32_t room, n;
} rill_actions;

static inline void rill_actions_add(rill_actions *to, int32_t action)
{
    if (to->n < to->room) to->action[to->n] = action;
    to->n++;
}

/* Takes the next word. A failure ends the call, which then returns it. */
typedef rill_status (*rill_word_fn)(void *user, const char *word, size_t length);

/* What stands between blanks, which are all bytes up to ' '. RILL_OK · what fn returned */
rill_status rill_words_each(const char *text, size_t length, rill_word_fn fn, void *user);

#endif
