/* A domain as a plugin, to copy: it fills the gaps of a word, "b_a__" -> "beans", with letters likely to follow each other.
 *
 * The model is a table of letter pairs, counted from the file `path`, or a few built-in lines. Actions are the letters and one end action.
 * A gap may become any letter, a given letter only itself; then only the end action is legal.
 *
 * Recipe
 *    1. Copy this file; choose a name ([a-z0-9-]+) and put it in the table at the end.
 *    2. Choose what an action is, number the actions from 0, and choose how a hypothesis ends: with an end action (RILL_END, set in
 *       open()), or with an ordinary action that completes it (RILL_LAST).
 *    3. Choose what a state is: what score() must know of a hypothesis besides its input. RILL_STATE_PARENT: computed from the parent's
 *       state and the action; RILL_STATE_PATH: from all ancestors' states (attention).
 *    4. open(): load the model from options->path, fill *info. On failure release everything and call rill_fail() with file, line and what
 *       was expected.
 *    5. reserve(): allocate arrays for states and inputs. The engine assigns the ids; the memory belongs to the domain, and only grows.
 *    6. encode(): read inputs into their slots. An invalid one fails alone with rill_input_fail().
 *    7. step(): compute each row's state from its parent's. The call is one batch: a neural model would run a GEMM here.
 *    8. score(): return each row's best legal actions with log-probabilities, and those of the picks in the request.
 *       rill_score_result_fill() does this from all of a row's actions. Scores are the model's own: the engine applies scorers and
 *       settings.
 *    9. finalize(): convert the actions to the output text.
 *   10. drop(), free(): release slots and states. Leave them out if there is nothing to release.
 *   11. close(): release what open() allocated.
 *   12. Optional members: measure(), canonical(); see the table at the end.
 *   13. Build a shared object that exports rill_plugin(), and check it:
 *           cc -std=c17 -O2 -shared -fPIC -o rill-mine.so mine.c $(pkg-config --cflags rill) -lm
 *           rill check --plugin ./rill-mine.so -i INPUTS
 *       docs/guides/plugins.md says where to install it.
 *
 * Two rules. A row's results depend on that row only: a batch may have rows of any inputs. No function exits or prints; it returns a
 * failure. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rill/plugin.h"

enum { LETTERS = 26, END = 26, ACTIONS = 27, BORDER = 26, LONGEST = 200 };

/* An encoded input: its letters, with GAP at positions where any letter is possible. */
enum { GAP = -1 };
typedef struct slot {
    int32_t length;
    int8_t letter[LONGEST];
} slot;

/* The state of a hypothesis: its last letter, BORDER before the first. */
typedef int8_t node;

typedef struct speller {
    rill_context *ctx;
    float logp[LETTERS + 1][ACTIONS]; /* [previous letter or BORDER][next letter or END] */
    node *nodes;
    size_t node_capacity;
    slot *slots;
    size_t slot_capacity;
} speller;

/* --- the model ---------------------------------------------------------------------------------------------------- */

static const char built_in[] =
    "the quick brown fox jumps over the lazy dog while many other animals rest in the shade of an old tree "
    "search for a letter that fits and keep the few best words that can be made from what is given here";

static void count_letter(double counts[LETTERS + 1][ACTIONS], int *previous, int c)
{
    int letter = isalpha(c) ? tolower(c) - 'a' : END;
    if (letter == END && *previous == BORDER) return; /* spaces between two words count only once */
    counts[*previous][letter]++;
    *previous = letter == END ? BORDER : letter;
}

/* Convert counts to log-probabilities. Half a count is added to each pair, so that none is impossible. */
static void normalise(speller *s, double counts[LETTERS + 1][ACTIONS])
{
    for (int p = 0; p <= LETTERS; p++) {
        double sum = 0;
        for (int a = 0; a < ACTIONS; a++) sum += counts[p][a] + 0.5;
        for (int a = 0; a < ACTIONS; a++) s->logp[p][a] = (float)log((counts[p][a] + 0.5) / sum);
    }
}

static rill_status learn(speller *s, const char *path)
{
    double counts[LETTERS + 1][ACTIONS] = {{0}};
    int previous = BORDER, c;
    if (path == NULL) {
        for (const char *pos = built_in; *pos != '\0'; pos++) count_letter(counts, &previous, (unsigned char)*pos);
    } else {
        FILE *file = fopen(path, "r");
        if (file == NULL) return rill_fail(s->ctx, RILL_ERR_IO, "template: %s: %s", path, strerror(errno));
        while ((c = getc(file)) != EOF) count_letter(counts, &previous, c);
        int bad = ferror(file);
        fclose(file);
        if (bad) return rill_fail(s->ctx, RILL_ERR_IO, "template: cannot read all of %s", path);
    }
    count_letter(counts, &previous, ' ');
    normalise(s, counts);
    return RILL_OK;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static void close_speller(void *self)
{
    speller *s = self;
    if (s == NULL) return;
    rill_free(s->ctx, s->nodes, s->node_capacity * sizeof *s->nodes);
    rill_free(s->ctx, s->slots, s->slot_capacity * sizeof *s->slots);
    rill_free(s->ctx, s, sizeof *s);
}

static rill_status open_speller(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                                void **self, rill_domain_info *info)
{
    (void)table;
    speller *s = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "the speller");
    s->ctx = ctx;
    rill_status status = learn(s, options->path);
    if (status < 0) {
        close_speller(s);
        return status;
    }
    *info = (rill_domain_info){
        .actions = ACTIONS,
        .phases = 1,                     /* more if a timestep makes several decisions */
        .state_need = RILL_STATE_PARENT, /* the last letter follows from the action */
        .max_length = LONGEST,           /* encode() sets each input's own */
        .description = "letter pairs",
        .node_bytes = sizeof(node), /* bytes of a state, for the option memory */
        .slot_bytes = sizeof(slot),
        .has_end_action = 1, /* 0 if hypotheses end with an ordinary action: then set out->ends in score() */
        .end_action = END,
    };
    *self = s;
    return RILL_OK;
}

/* The engine may now use state ids below `nodes` and slots below `slots`. Existing states stay valid, since
 * rill_grow() keeps the contents. */
static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    speller *s = self;
    rill_status status = rill_grow(s->ctx, (void **)&s->nodes, &s->node_capacity, (size_t)nodes, sizeof *s->nodes,
                                   "letters");
    if (status < 0) return status;
    return rill_grow(s->ctx, (void **)&s->slots, &s->slot_capacity, (size_t)slots, sizeof *s->slots, "words");
}

/* --- encode ------------------------------------------------------------------------------------------------------- */

static void read_word(rill_input *in, slot *to)
{
    if (in->length == 0 || in->length > LONGEST) {
        rill_input_fail(in, RILL_ERR_INPUT, "the word has %zu letters: expected 1 to %d", in->length, LONGEST);
        return;
    }
    for (size_t i = 0; i < in->length; i++) {
        unsigned char c = (unsigned char)in->text[i];
        if (c != '_' && !(c < 128 && isalpha(c))) {
            rill_input_fail(in, RILL_ERR_INPUT, "byte %zu is neither a letter nor '_'", i + 1);
            return;
        }
        to->letter[i] = (int8_t)(c == '_' ? GAP : tolower(c) - 'a');
    }
    to->length = (int32_t)in->length;
    in->max_length = to->length + 1; /* one more than the letters, for the end action */
    in->size = to->length;           /* size of the input, for sorting */
}

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    speller *s = self;
    for (int32_t i = 0; i < m; i++) read_word(&inputs[i], &s->slots[inputs[i].slot]);
    return RILL_OK;
}

/* --- step --------------------------------------------------------------------------------------------------------- */

static rill_status step(void *self, const rill_rows *rows)
{
    speller *s = self;
    for (int32_t i = 0; i < rows->n; i++)
        s->nodes[rows->node[i]] = (node)(rows->action[i] == RILL_ACTION_START ? BORDER : rows->action[i]);
    return RILL_OK;
}

/* --- score -------------------------------------------------------------------------------------------------------- */

/* Return each row's legal actions: the given letter, or all letters. */
static rill_status score(void *self, const rill_rows *rows, const rill_score_request *score_request,
                         rill_score_result *out)
{
    const speller *s = self;
    for (int32_t row = 0; row < rows->n; row++) {
        const slot *word = &s->slots[rows->slot[row]];
        const float *all = s->logp[s->nodes[rows->node[row]]];
        int32_t pos = rows->depth[row], action[LETTERS];
        int32_t fixed_action = pos == word->length ? END : word->letter[pos];
        for (int32_t i = 0; i < LETTERS; i++) action[i] = i;
        /* A model with many actions would write only the best score_request->max_choices of the allowed actions, and
         * the picked ones. */
        if (fixed_action == GAP)
            rill_score_result_fill(score_request, row, LETTERS, action, all, NULL, out);
        else
            rill_score_result_fill(score_request, row, 1, &fixed_action, &all[fixed_action], NULL, out);
    }
    return RILL_OK;
}

/* --- finalize ----------------------------------------------------------------------------------------------------- */

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    (void)self;
    for (int32_t i = 0; i < hypothesis->length && hypothesis->action[i] != END; i++) {
        char letter = (char)('a' + hypothesis->action[i]);
        rill_status status = rill_text_append(out, &letter, 1);
        if (status < 0) return status;
    }
    return RILL_OK;
}

/* --- optional members --------------------------------------------------------------------------------------------- */

static void drop(void *self, int32_t id)
{
    speller *s = self;
    s->slots[id].length = 0; /* nothing to free here; a domain with encoder memory would free it */
}

static void free_nodes(void *self, int32_t n, const int32_t *nodes)
{
    speller *s = self;
    for (int32_t i = 0; i < n; i++) s->nodes[nodes[i]] = BORDER;
}

static int64_t measure(void *self, const char *text, size_t length)
{
    (void)self, (void)text;
    return (int64_t)length; /* the size of an input is its number of letters */
}

static rill_status canonical(const rill_domain *table, rill_context *ctx, const char *text, size_t length,
                             rill_text *out)
{
    (void)table, (void)ctx;
    for (size_t i = 0; i < length; i++) {
        char letter = (char)tolower((unsigned char)text[i]);
        rill_status status = rill_text_append(out, &letter, 1);
        if (status < 0) return status;
    }
    return RILL_OK;
}

/* Write an action's name for scorers and scripts: the letter. The end action has none. */

static rill_status action_name(void *self, int32_t action, rill_text *out)
{
    const speller *s = self;
    if (action == END) return rill_fail(s->ctx, RILL_ERR_NOT_FOUND, "template: the end action has no letter");
    char letter = (char)('a' + action);
    return rill_text_append(out, &letter, 1);
}

static int32_t find_action(void *self, const char *text, size_t length)
{
    (void)self;
    return length == 1 && text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' : RILL_NO_ACTION;
}

/* --- table of the domain ------------------------------------------------------------------------------------------ */

static const rill_domain template_domain = {
    /* abi_version */ RILL_ABI_VERSION,
    /* struct_size */ sizeof(rill_domain),
    /* name        */ "template",
    /* summary     */ "fill the gaps of a word: b_a__ -> beans",
    /* open        */ open_speller,
    /* reserve     */ reserve,
    /* encode      */ encode,
    /* step        */ step,
    /* score       */ score,
    /* finalize    */ finalize,
    /* drop        */ drop,       /* (optional) without it, nothing happens when an item is finished */
    /* free        */ free_nodes, /* (optional) without it, nothing happens when states are freed */
    /* close       */ close_speller,
    /* measure     */ measure,     /* (optional) without it, inputs are sorted by their number of words */
    /* canonical   */ canonical,   /* (optional) without it, an output must equal the reference byte by byte */
    /* action_name */ action_name, /* (optional) without these two, scorers and scripts know actions by number only */
    /* find_action */ find_action,
    /* metric      */ "exact", /* (optional) without it, outputs are evaluated by exact match, too */
    /* features    */ 0,       /* (optional) additional features, such as ensembles: see rill_domain_feature */
    /* field       */ NULL,    /* (optional) without it, outputs have only their text */
    /* unknown_action */ NULL, /* (optional) every letter is known */
    /* recommend      */ NULL, /* (optional) without it, presets stay unchanged */
    /* tokenize       */ NULL, /* (optional) without it, scorers cannot convert a text to actions */
    /* start          */ NULL, /* (optional) without start and stop, only one engine at a time can use a model */
    /* stop           */ NULL,
    /* profile        */ NULL, /* (optional) without these three, --profile is an error: nothing runs on a device */
    /* profile_row    */ NULL,
    /* limits         */ NULL,
    /* collect        */ NULL, /* (optional) without it, score() returns its results at once */
    /* advise         */ NULL, /* (optional) without it, a model is searched with rill's defaults */
    /* options        */ NULL, /* (optional) its own options, such as --letters N: see examples/neural_domain.c */
    /* model_types    */ NULL, /* (optional) the "model_type" values of config.json that identify its models */
    /* classify       */ NULL, /* (optional) without it, cube pruning merges states with the same last action */
    /* first_action   */ NULL, /* (optional) without it, no first action is forced */
    /* split          */ NULL, /* (optional) without it, a line is one input, however long */
    /* input_options  */ NULL, /* (optional) without it, all inputs are read with the options of open() */
    /* graph_runs     */ NULL, /* (optional) nothing runs on a device */
};

RILL_API const rill_plugin_table *rill_plugin(void);

RILL_API const rill_plugin_table *rill_plugin(void)
{
    static const rill_domain *const domains[] = {&template_domain, NULL};
    static const rill_plugin_table table = {
        .abi_version = RILL_ABI_VERSION, .struct_size = sizeof table, .name = "template", .domains = domains};
    return &table;
}
