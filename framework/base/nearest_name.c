/* "Did you mean": the nearest known name, by edit distance. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

enum { MAX_NAME = 64, MIN_PREFIX = 3 };

static char fold_char(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c == '_' ? '-' : c;
}

/* Levenshtein distance with one row of the table; names longer than MAX_NAME match nothing. */
size_t rill__edit_distance(const char *a, const char *b)
{
    size_t row[MAX_NAME + 1], na = strlen(a), nb = strlen(b);
    if (na > MAX_NAME || nb > MAX_NAME) return MAX_NAME;
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (fold_char(a[i - 1]) != fold_char(b[j - 1]));
            diagonal = row[j];
            if (diagonal + 1 < best) best = diagonal + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

/* Whether the name is a prefix of the candidate, like "max-cand" of "max-candidates". */
static int is_prefix(const char *name, const char *candidate)
{
    while (*name != '\0' && fold_char(*name) == fold_char(*candidate)) name++, candidate++;
    return *name == '\0';
}

/* From this distance on a suggestion confuses. It is 1 for a name of one letter, which has nothing in common with another letter. */
static size_t max_distance(const char *name)
{
    size_t n = strlen(name);
    return n < 4 ? n / 2 + 1 : n / 3 + 2;
}

/* Return 1 if the candidate is nearer to the name than *best_distance, which is then lowered, else 0. */
static int is_nearer(const char *name, const char *candidate, size_t *best_distance)
{
    size_t distance = rill__edit_distance(name, candidate), far = max_distance(name) - 1;
    if (distance > far && strlen(name) >= MIN_PREFIX && is_prefix(name, candidate)) distance = far;
    if (distance >= *best_distance) return 0;
    *best_distance = distance;
    return 1;
}

void rill_option_nearer(const rill_option *row, const char *word, rill_option_near *near)
{
    char alias[RILL_OPTION_MAX];
    const char *name;
    if (near->name[0] == '\0') near->distance = max_distance(word);
    for (int i = 0; (name = rill_option_name(row, i, alias)) != NULL; i++)
        if (is_nearer(word, name, &near->distance)) snprintf(near->name, sizeof near->name, "%s", name);
}

const char *rill_nearest(const char *word, const char *const *names, size_t n)
{
    const char *found = NULL;
    size_t best_distance = max_distance(word);
    for (size_t i = 0; i < n; i++)
        if (is_nearer(word, names[i], &best_distance)) found = names[i];
    return found;
}
