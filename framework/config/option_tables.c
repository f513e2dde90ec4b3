/* Option tables, except domains': search settings, heuristics, scorers, schedulers, output options. Used by command line, help, files,
 * reports and messages. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "internal.h"
#include "rill/search_config.h"

/* clang-format off */
#define NAMED(name, aliases, argument, initial, type, kind, min_value, max_value, member, help) \
    {name, argument, initial, help, RILL_OPTION_##type, RILL_OPTION_##kind, min_value, max_value, offsetof(rill_settings, member), aliases}
#define ROW(name, argument, initial, type, kind, min_value, max_value, member, help) \
    NAMED(name, NULL, argument, initial, type, kind, min_value, max_value, member, help)
static const rill_option SETTINGS[] = {
    ROW("method", "NAME", "stream-all", TEXT, SCHEDULE, 0, 0, method, "search method"),
    NAMED("beam-size", "k b num-beams beam beams beam-width", "K", "10; greedy: 1", INT, SEARCH, 1, 65536, k,
        "hypotheses in the beam of an input"),
    NAMED("batch-size", "n mini-batch max-batch-size max-sentences", "N", "10", INT, SCHEDULE, 1, 1048576, n,
        "inputs decoded together; for Marian's -n (--normalize) use --length-penalty"),
    NAMED("max-in-flight", "max-items", "N", "batch-size, or 100 times that with max-batch-hypotheses", INT, SCHEDULE, 1, 1048576,
        max_items, "inputs in flight, streaming methods"),
    NAMED("max-batch-hypotheses", "budget", "B", "0: no limit", INT, SCHEDULE, 0, INT_MAX, budget,
        "maximum number of hypotheses expanded in a timestep"),
    NAMED("refill-threshold", "refill", "E", "1/6; top-up 1/2", REAL, SCHEDULE, 0, 1, refill,
        "admit new inputs when at most this fraction of max-in-flight is in flight"),
    NAMED("max-children", "max-candidates", "M", "beam-size; twice that with finish immediate", INT, SEARCH, 1, 131072,
        max_candidates, "maximum number of children kept per parent hypothesis"),
    ROW("finish", "top|immediate|shrink|one-step", "the method's", WORD, SEARCH, 0, 0, finish,
        "when a hypothesis that ended leaves the beam"),
    ROW("stop-after", "Z", "beam-size", INT, SEARCH, 1, 131072, stop_after, "outputs after which an input stops"),
    ROW("patience", "P", "", REAL, SEARCH, 1e-6, 65536, patience,
        "stop after round(P * beam-size) outputs; instead of stop-after"),
    NAMED("min-length", "min-new-tokens min-decoding-length min-len", "L", "0", INT, SEARCH, 0, INT_MAX, min_length,
        "actions before a hypothesis may end"),
    NAMED("max-length", "max-new-tokens max-decoding-length max-len", "L", "the model's", INT, SEARCH, 1, INT_MAX, max_length,
        "maximum number of actions of a hypothesis"),
    NAMED("length-penalty", "lenpen normalize", "A", "0: by path_score; 1: by its mean", REAL, SEARCH, -25, 25, length_penalty,
        "order outputs by path_score / length^A"),
    NAMED("n-best", "num-hypotheses num-return-sequences nbest", "N", "1", INT, OUTPUT, 1, 131072, n_best,
        "maximum number of outputs per input"),
    ROW("distinct", "", "", SWITCH, OUTPUT, 0, 1, distinct, "leave out outputs with the same text as a better one"),
    ROW("sort", "none|length|longest-first[:W]", "none; W: the larger of max-in-flight and 1000", TEXT, SCHEDULE, 0, 0, sort,
        "admit inputs by size within windows of W inputs"),
    ROW("flush-every", "T", "0: never", INT, SCHEDULE, 0, INT_MAX, flush_every,
        "every T timesteps, finish all inputs in flight before admitting more"),
    ROW("unordered", "", "", SWITCH, SCHEDULE, 0, 1, unordered, "return results in order of completion"),
    ROW("check", "", "", SWITCH, SCHEDULE, 0, 1, check,
        "check while decoding that heuristics and scorers use one input at a time (slow)"),
    ROW("max-nodes", "N", "0: no bound", INT, SCHEDULE, 0, INT_MAX, max_nodes,
        "maximum number of states kept at once; inputs wait, results do not change"),
    ROW("memory", "SIZE", "0: no bound", BYTES, SCHEDULE, 0, 0x1p53, memory,
        "maximum memory of states and inputs in flight in bytes, as in 2G; inputs wait, results do not change"),
    ROW("like", "hf|fairseq|marian|ct2", "", WORD, SEARCH, 0, 0, like,
        "use the conventions of another decoder for options that are not set"),
    ROW("keep", "all|first|best", "all", WORD, SEARCH, 0, 0, keep, "which outputs are kept once stop-after were found"),
    ROW("stop", "count|bound|bound-max|top", "count: at once", WORD, SEARCH, 0, 0, stop,
        "when an input with stop-after outputs stops"),
    ROW("at-limit", "open|first|end|end-free|best-ended", "open: as they are", WORD, SEARCH, 0, 0, at_limit,
        "how hypotheses end at the length limit"),
    ROW("count-end", "", "", SWITCH, SEARCH, 0, 1, count_end, "count the end action in the length that penalties use"),
    ROW("max-length-factor", "A", "0: max-length alone", REAL, SEARCH, 0, 1e6, max_length_factor,
        "maximum number of actions: A times the input's size, plus max-length if that is set"),
    ROW("word-penalty", "W", "0", REAL, SEARCH, -1e6, 1e6, word_penalty,
        "order outputs by (path_score - W * length) / length^A"),
    ROW("min-width", "W", "0", INT, SEARCH, 0, 131072, min_width,
        "minimum number of candidates that heuristics leave an input, its outputs included"),
    ROW("require-end", "", "", SWITCH, OUTPUT, 0, 1, require_end,
        "return no truncated output; an input without another fails"),
    NAMED("unknown-penalty", "unkpen", "U", "0", REAL, SEARCH, -1e6, HUGE_VAL, unknown_penalty,
        "subtracted from the log-probability of the unknown token; inf: never choose it"),
    ROW("cube", "none|naive|accelerated", "none", WORD, SEARCH, 0, 0, cube,
        "cube pruning: expand one hypothesis for all with the same last actions; naive then rescores the chosen extensions of the others"),
    ROW("certify", "", "", SWITCH, OUTPUT, 0, 1, certify,
        "report which outputs are provably the model's best for their input"),
    ROW("exact", "", "", SWITCH, SEARCH, 0, 1, exact,
        "after the beam search, search until the n best outputs are proved optimal; sets certify"),
    ROW("exact-rows", "N", "10000", INT, SEARCH, 1, INT_MAX, exact_rows,
        "maximum number of hypotheses that exact search expands for an input"),
    NAMED("no-repeat-ngram-size", "no-repeat-ngram", "N", "0: any may repeat", INT, SEARCH, 0, INT_MAX, no_repeat_ngram,
        "no output repeats a sequence of N tokens"),
    ROW("repetition-penalty", "P", "1: none", REAL, SEARCH, 1e-3, 1e3, repetition_penalty,
        "multiply the log-probabilities of tokens that the output already has by P"),
    NAMED("num-samples", "sample", "N", "0: search", INT, SEARCH, 1, 65536, sample, "draw N outputs instead of searching for the best"),
    NAMED("temperature", "sampling-temperature", "T", "1", REAL, SEARCH, 1e-3, 1e3, temperature,
        "divide log-probabilities by T before drawing"),
    NAMED("top-k", "sampling-topk", "K", "50", INT, SEARCH, 0, INT_MAX, top_k,
        "draw from the best K tokens of a hypothesis; 0: from all, which takes longer"),
    NAMED("top-p", "sampling-topp", "P", "1", REAL, SEARCH, 1e-6, 1, top_p,
        "draw from the fewest best tokens whose probabilities sum to P"),
    ROW("seed", "S", "0", INT, SEARCH, 0, INT_MAX, seed, "seed of the random numbers; each input draws its own"),
    NAMED("beam-groups", "groups num-beam-groups diverse-beam-groups", "G", "1", INT, SEARCH, 1, 65536, groups,
        "diverse beam search: divide the beam into G groups that avoid each other's tokens"),
    NAMED("diversity-penalty", "diversity diverse-beam-strength", "D", "0.5", REAL, SEARCH, 1e-6, 1e6, diversity,
        "subtracted from a token's score for each earlier group that chose it"),
    {0},
};

#define CHAIN(name, aliases, argument, type, kind, help) \
    {name, argument, "", help, RILL_OPTION_##type, RILL_OPTION_##kind, 0, 0, 0, aliases}
static const rill_option CHAIN_OPTIONS[] = {
    CHAIN("prune-absolute", "absolute", "D", TEXT, SEARCH, "drop candidates more than D below the best"),
    CHAIN("prune-relative", "relative", "R", TEXT, SEARCH, "drop candidates with less than R times the best's probability"),
    CHAIN("prune-relative-local", "relative-local", "R", TEXT, SEARCH,
        "drop candidates whose last action has less than R times the probability of the item's best last action"),
    CHAIN("heuristic", NULL, "NAME:ARGS", TEXT, SEARCH,
        "add a heuristic of `rill list heuristics`; may be repeated; all apply in the order given, prune-* included"),
    CHAIN("scorer", NULL, "NAME:ARGS", TEXT, SEARCH, "add a scorer of `rill list scorers`; may be repeated"),
    CHAIN("lmbr", NULL, "FILE[,NAME=X...]", PATH, SEARCH,
        "reward n-grams by their posteriors in FILE, made by `rill evidence`; docs/guides/lmbr.md explains lambda, T, p, r and theta"),
    CHAIN("lmbr-self", NULL, "N[,NAME=X...]", TEXT, SEARCH,
        "reward n-grams by their posteriors among the input's N best outputs; decodes every input twice"),
    CHAIN("scheduler", "policy", "NAME[:ARGS]", TEXT, SCHEDULE, "use this scheduler instead of the method's"),
    {0},
};

#define OUTPUT(name, argument, type, help) {name, argument, "", help, RILL_OPTION_##type, RILL_OPTION_OUTPUT, 0, 1, 0, NULL}
static const rill_option OUTPUT_OPTIONS[] = {
    OUTPUT("alignment", "[=FORM]", TEXT,
        "append \" ||| \" and the alignment with the input to each output; FORM: hard (default), soft, or a minimum attention weight"),
    OUTPUT("word-scores", "", SWITCH, "append \" ||| WordScores=\" and the log-probability of each token to each output"),
    OUTPUT("unknown-names", "", SWITCH,
        "append \" ||| \" and the input's names that the model does not know to each output"),
    OUTPUT("ids", "", SWITCH, "write token ids, as in `rill list actions`, in place of texts"),
    OUTPUT("split", "HOW", TEXT,
        "decode inputs sentence by sentence and join the outputs; auto (default): inputs longer than the "
        "translation model's training sentences; sentences: all; off: none"),
    OUTPUT("pretty", "", SWITCH, "write trees indented, one constituent per line"),
    {0},
};
/* clang-format on */

_Static_assert(sizeof SETTINGS / sizeof *SETTINGS <= 64, "rill_settings.given has a bit for each");
_Static_assert(sizeof(rill_settings) <= RILL_SETTINGS_SPACE, "structs have settings inside");

const rill_option *rill_setting_table(void)
{
    return SETTINGS;
}

const rill_option *rill_chain_table(void)
{
    return CHAIN_OPTIONS;
}

const rill_option *rill_output_table(void)
{
    return OUTPUT_OPTIONS;
}

/* Options of other toolkits or earlier versions, and what replaces each. `what`: as for rill_refused_option(). */
static const struct {
    const char *what, *name, *instead;
} refused[] = {
    {"opening", "backend", "rill's own kernels compute all matrix products: leave it out"},
    {"setting", "deterministic", "results never depend on the schedule: leave it out"},
    {"setting", "max-len-a", "set max-length-factor, which is a of fairseq's ax + b"},
    {"setting", "max-len-b", "for fairseq's ax + b, set max-length-factor to a and max-length to b"},
    {"setting", "do-sample", "to sample, set num-samples to the number of outputs; otherwise leave it out"},
    {"setting", "sampling", "to sample, set num-samples to the number of outputs; otherwise leave it out"},
    {"setting", "early-stopping",
     "set stop to count for true of transformers, bound for false, bound-max for never; like hf sets its defaults"},
    {"setting", "script", "the command loads a script by --plugin FILE.lua, and a run file by --config FILE.lua"},
    {"setting", "lua", "the command loads a script by --plugin FILE.lua, and a run file by --config FILE.lua"},
    {"setting", "unk-penalty", "set unknown-penalty"},
    {"setting", "greedy", "set method to greedy"},
    {"setting", "unnormalized", "set length-penalty to 0"},
    {"setting", "no-early-stop", "set stop to bound"},
    {"setting", "max-tokens", "fairseq limits the tokens of a batch: set batch-size to a number of inputs"},
    {"setting", "disable-unk", "set unknown-penalty to inf"},
    {"setting", "allow-unk", "set unknown-penalty to 0, or leave it out"},
    {"opening", "fp16", "set weights to f16"},
    {"opening", "half", "set weights to f16"},
    {"opening", "bf16", "set weights to bf16"},
    {"opening", "int8", "set weights to int8"},
    {"opening", "gpu", "set device to cuda, or to cuda:NUMBER"},
    {"opening", "gpus", "set device to cuda:0,cuda:1 and so on"},
    {"opening", "cuda", "set device to cuda, or to cuda:NUMBER"},
    {"opening", "device-index", "set device to cuda:NUMBER"},
    {"opening", "cpu", "set device to cpu, or leave it out"},
    {"opening", "cpu-threads",
     "set workers for Marian's threads, which decode in parallel; threads run inside an operation"},
    {"opening", "num-workers", "fairseq's workers load data; set workers for threads that decode in parallel"},
    {"heuristic", "beam_width",
     "set beam-size for the number of hypotheses in a beam, or prune-relative for a ratio of probabilities"},
    {"heuristic", "max_candidates", "set the option max-children"},
    {"heuristic", "patience", "set the option patience"},
};

const char *rill_refused_option(const char *what, const char *name)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(refused[i].what, what) == 0 && rill__same_name(refused[i].name, name)) return refused[i].instead;
    return NULL;
}
