/* Text to words. What stands between spaces is a chunk; a chunk is punctuation that leads, a core, and punctuation that trails; a
 * core is cut at dashes, and what is left at contractions.
 *
 * Invariant: every byte of the text that is no space goes into exactly one word, but for quotes and apostrophes that are respelled,
 * for "..." in place of its one character, and for the full stop that an abbreviation shares with the end of the text.
 * Divisions: pieces of text · words out · abbreviations · contractions · the core · what leads · what trails · chunks. */
#include <string.h>

#include "penn.h"
#include "try.h"

/* --- pieces of text ----------------------------------------------------------------------------------------------- */

typedef struct tokenizer {
    rill_sentence *out;
    int style;
    int quoted; /* a double quote is open */
    char next;  /* first byte of the next chunk, 0 behind the last */
    int first;  /* nothing stands before this chunk */
} tokenizer;

static int begins(rill_slice s, const char *with)
{
    size_t length = strlen(with);
    return s.length >= length && memcmp(s.data, with, length) == 0;
}

static int ends(rill_slice s, const char *with)
{
    size_t length = strlen(with);
    return s.length >= length && memcmp(s.data + s.length - length, with, length) == 0;
}

static rill_slice head(rill_slice s, size_t length)
{
    return (rill_slice){s.data, length};
}

static rill_slice rest(rill_slice s, size_t from)
{
    return (rill_slice){s.data + from, s.length - from};
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Also the bytes of all characters beyond ASCII. */
static int is_letter(char c)
{
    return (lower(c) >= 'a' && lower(c) <= 'z') || (unsigned char)c >= 0x80;
}

static int equal_lower(rill_slice s, const char *word)
{
    if (s.length != strlen(word)) return 0;
    for (size_t i = 0; i < s.length; i++)
        if (lower(s.data[i]) != word[i]) return 0;
    return 1;
}

static int is_one_of(rill_slice s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (equal_lower(s, words[i])) return 1;
    return 0;
}

#define IS_ONE_OF(s, words) is_one_of(s, words, sizeof(words) / sizeof *(words))

/* Which of the texts the slice begins, or ends, with; its length, or 0. */
static size_t which(rill_slice s, const char *const *texts, size_t n, int (*test)(rill_slice, const char *))
{
    for (size_t i = 0; i < n; i++)
        if (test(s, texts[i])) return strlen(texts[i]);
    return 0;
}

#define WHICH(s, texts, test) which(s, texts, sizeof(texts) / sizeof *(texts), test)

/* --- words out ---------------------------------------------------------------------------------------------------- */

static rill_status put_as(tokenizer *t, const char *word)
{
    return rill_sentence_add(t->out, word, strlen(word), RILL_NO_TAG);
}

/* A word of the text; an apostrophe in it is written in ASCII, unless quotes stay as they are. */
static rill_status put(tokenizer *t, rill_slice word)
{
    static const char apostrophe[] = "\xE2\x80\x99";
    if (word.length == 0) return RILL_OK;
    for (size_t i = 0; i < word.length && !(t->style & RILL_PENN_QUOTES); i++) {
        if (!begins(rest(word, i), apostrophe)) continue;
        TRY(rill_sentence_append(t->out, word.data, i));
        TRY(rill_sentence_append(t->out, "'", 1));
        word = rest(word, i + sizeof apostrophe - 1);
        i = (size_t)-1;
    }
    return rill_sentence_add_escaped(t->out, word.data, word.length, RILL_NO_TAG);
}

static rill_status put_quote(tokenizer *t, rill_slice as_typed, const char *as_written)
{
    return t->style & RILL_PENN_QUOTES ? put(t, as_typed) : put_as(t, as_written);
}

/* Addresses of all kinds are left whole. */
static int is_address(rill_slice s)
{
    static const char scheme[] = "://";
    if (begins(s, "www.") || begins(s, "http")) return 1;
    for (size_t i = 1; i + 1 < s.length; i++)
        if (s.data[i] == '@' || begins(rest(s, i), scheme)) return 1;
    return 0;
}

/* --- abbreviations ------------------------------------------------------------------------------------------------ */

/* Without their last full stop; in small letters. */
static const char *const abbreviations[] = {
    "adm", "al",   "apr",  "approx", "aug",  "ave",    "blvd", "bros", "brig", "ca",  "calif", "capt", "cf",
    "co",  "col",  "colo", "conn",   "corp", "cos",    "dec",  "dept", "dist", "div", "dr",    "ed",   "eds",
    "est", "etc",  "feb",  "fla",    "ft",   "gen",    "gov",  "hon",  "hr",   "inc", "jan",   "jr",   "jul",
    "kan", "lt",   "ltd",  "maj",    "md",   "messrs", "mich", "minn", "mlle", "mme", "mo",    "mr",   "mrs",
    "ms",  "mt",   "neb",  "nev",    "nov",  "oct",    "okla", "pa",   "ph.d", "plc", "pp",    "prof", "pty",
    "pvt", "rep",  "reps", "rev",    "sen",  "sens",   "sept", "sgt",  "sr",   "st",  "ste",   "supt", "tenn",
    "tex", "univ", "va",   "viz",    "vol",  "vs",     "vt",   "wis",  "wyo",
};

/* Abbreviations that are words as well: of numbers, when one comes next; of places, in capitals. */
static const char *const of_numbers[] = {"fig", "figs", "no", "nos"}, *const of_places[] = {"mass", "ore", "wash"};

static int is_abbreviation(const tokenizer *t, rill_slice s)
{
    if (IS_ONE_OF(s, of_numbers)) return is_digit(t->next);
    return IS_ONE_OF(s, abbreviations) || (IS_ONE_OF(s, of_places) && is_upper(s.data[0]));
}

/* Letters with a full stop between each two: "U.S", "e.g", "J"; but not the word I. */
static int is_initials(rill_slice s)
{
    if (s.length == 0 || s.length % 2 == 0 || (s.length == 1 && (!is_upper(s.data[0]) || s.data[0] == 'I'))) return 0;
    for (size_t i = 0; i < s.length; i++)
        if (i % 2 == 0 ? !(lower(s.data[i]) >= 'a' && lower(s.data[i]) <= 'z') : s.data[i] != '.') return 0;
    return 1;
}

static int is_number(rill_slice s)
{
    for (size_t i = 0; i < s.length; i++)
        if (!is_digit(s.data[i])) return 0;
    return s.length > 0;
}

/* Does a full stop behind `s` belong to it? Where the text goes on in small letters no sentence has ended; a number with a full stop
 * at the text's beginning counts an item of a list; one letter at its end is no name's ("vitamin C."). */
static int keeps_stop(const tokenizer *t, rill_slice s)
{
    const char *dash = memrchr(s.data, '-', s.length);
    if (dash != NULL) s = rest(s, (size_t)(dash + 1 - s.data)); /* "Sino-U.S." */
    if (is_abbreviation(t, s) || (is_initials(s) && (s.length > 1 || t->next != 0))) return 1;
    if (t->next == 0 || is_address(s)) return 0;
    return (t->next >= 'a' && t->next <= 'z') || (t->first && is_number(s));
}

/* --- contractions ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    size_t cut;
} fused[] = {{"cannot", 3}, {"gonna", 3}, {"gotta", 3}, {"wanna", 3}, {"lemme", 3},
             {"gimme", 3},  {"'tis", 2},  {"'twas", 2}, {"d'ye", 2}};

/* Where the last part of a contracted word begins, its length if there is none. */
static size_t contraction(rill_slice s)
{
    static const char *const apostrophes[] = {"'", "\xE2\x80\x99"};
    static const char *const tails[] = {"s", "m", "d", "re", "ve", "ll"};
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++)
        if (equal_lower(s, fused[i].word)) return fused[i].cut;
    for (size_t a = 0; a < 2; a++) {
        const size_t width = strlen(apostrophes[a]);
        for (size_t at = s.length; at-- > 1;) {
            if (!begins(rest(s, at), apostrophes[a])) continue;
            const rill_slice tail = rest(s, at + width);
            if (IS_ONE_OF(tail, tails)) return at;
            if (equal_lower(tail, "t") && lower(s.data[at - 1]) == 'n' && at > 1) return at - 1;
            break;
        }
    }
    return s.length;
}

static rill_status put_contracted(tokenizer *t, rill_slice s)
{
    const size_t cut = contraction(s);
    TRY(put(t, head(s, cut)));
    return put(t, rest(s, cut));
}

/* --- the core ----------------------------------------------------------------------------------------------------- */

static const char *const dashes[] = {"---", "--", "\xE2\x80\x94", "\xE2\x80\x93", "...", "\xE2\x80\xA6"};

/* Of what stands by itself at `at`, 0 if nothing does. */
static size_t separator(const tokenizer *t, rill_slice s, size_t at)
{
    static const char prefix_signs[] = ",;!?";
    const char c = s.data[at];
    const size_t dash = WHICH(rest(s, at), dashes, begins);
    if (dash > 0) return dash;
    if (at == 0 || at + 1 == s.length) return 0;
    const char before = s.data[at - 1], after = s.data[at + 1];
    if (c != '\0' && strchr(prefix_signs, c) != NULL) return !is_digit(before) || !is_digit(after);
    if (c == '-' && (t->style & RILL_PENN_HYPHENS)) return is_letter(before) && is_letter(after);
    return 0;
}

static rill_status put_dash(tokenizer *t, rill_slice dash)
{
    return begins(dash, "\xE2\x80\xA6") && !(t->style & RILL_PENN_QUOTES) ? put_as(t, "...") : put(t, dash);
}

static rill_status put_core(tokenizer *t, rill_slice s)
{
    size_t from = 0;
    for (size_t at = 0; at < s.length;) {
        const size_t length = separator(t, s, at);
        if (length == 0) {
            at++;
            continue;
        }
        TRY(put_contracted(t, head(rest(s, from), at - from)));
        TRY(put_dash(t, head(rest(s, at), length)));
        from = at += length;
    }
    return put_contracted(t, rest(s, from));
}

/* --- what leads --------------------------------------------------------------------------------------------------- */

/* Words that begin with an apostrophe of their own. */
static int is_elision(rill_slice s)
{
    static const char *const words[] = {"s",   "m",   "d",    "t",     "re", "ve", "ll",   "em",
                                        "til", "tis", "twas", "cause", "n",  "n'", "bout", "round"};
    return s.length > 0 && (is_digit(s.data[0]) || IS_ONE_OF(s, words));
}

/* Take one word from the front of the chunk; *length is 0 when what is there is no punctuation that leads. */
static rill_status put_leading(tokenizer *t, rill_slice s, size_t *length)
{
    static const char *const brackets[] = {"(", "[", "{"};
    static const char *const quotes[] = {"``", "\"", "\xE2\x80\x9C", "\xE2\x80\x9E", "\xC2\xAB"};
    static const char *const single[] = {"`", "\xE2\x80\x98"};
    static const char *const signs[] = {",", ";", ":", "!", "?", "\xC2\xBF", "\xC2\xA1"};
    static const char *const money[] = {"$", "\xC2\xA3", "\xE2\x82\xAC", "\xC2\xA5"};
    if ((*length = WHICH(s, dashes, begins)) > 0) return put_dash(t, head(s, *length));
    if ((*length = WHICH(s, brackets, begins)) > 0 || (*length = WHICH(s, signs, begins)) > 0)
        return put(t, head(s, *length));
    if ((*length = WHICH(s, money, begins)) > 0 && s.length > *length &&
        (is_digit(s.data[*length]) || s.data[*length] == '.'))
        return put(t, head(s, *length));
    if ((*length = WHICH(s, quotes, begins)) > 0) {
        /* A lone quote closes what is open. */
        const int closes = s.length == 1 && t->quoted;
        t->quoted = !closes;
        return put_quote(t, head(s, *length), closes ? "''" : "``");
    }
    if ((*length = WHICH(s, single, begins)) > 0) return put_quote(t, head(s, *length), "`");
    *length = begins(s, "''") ? 2 : begins(s, "'") && s.length > 1 && !is_elision(rest(s, 1));
    if (*length == 2) return put(t, head(s, 2));
    return *length == 1 ? put_quote(t, head(s, 1), "`") : RILL_OK;
}

/* --- what trails -------------------------------------------------------------------------------------------------- */

static const char *const closing_quotes[] = {"''", "\"", "\xE2\x80\x9D", "\xC2\xBB"};
static const char *const closing_single[] = {"'", "\xE2\x80\x99"};
static const char *const closing_signs[] = {",", ";", ":", "!", "?", "%"};
static const char *const closing_dots[] = {"...", "..", "\xE2\x80\xA6"};

/* A bracket that closes one in the word itself stays: "word(s)". */
static int closes_outside(rill_slice s)
{
    static const char pairs[] = ")(][}{";
    const char *pair = strchr(pairs, s.data[s.length - 1]);
    return pair != NULL && (pair - pairs) % 2 == 0 && memchr(s.data, pair[1], s.length - 1) == NULL;
}

/* Of the punctuation at the end of `s`: length of the last, 0 if there is none or it belongs to the word. */
static size_t trailing(const tokenizer *t, rill_slice s)
{
    size_t length;
    if ((length = WHICH(s, closing_quotes, ends)) > 0 || (length = WHICH(s, closing_signs, ends)) > 0 ||
        (length = WHICH(s, closing_dots, ends)) > 0)
        return length;
    if ((length = WHICH(s, closing_single, ends)) > 0) {
        const rill_slice before = head(s, s.length - length);
        return ends(before, "in") || equal_lower(before, "'n") || before.length == 0 ? 0 : length; /* "doin'", "'n'" */
    }
    if (ends(s, ".")) return s.length > 1 && !keeps_stop(t, head(s, s.length - 1));
    return closes_outside(s);
}

static rill_status put_trailing(tokenizer *t, rill_slice s)
{
    while (s.length > 0) {
        size_t length = 1;
        const size_t quote = WHICH(s, closing_quotes, begins), single = WHICH(s, closing_single, begins),
                     dots = WHICH(s, closing_dots, begins);
        if (quote > 0) {
            t->quoted = 0;
            TRY(put_quote(t, head(s, length = quote), "''"));
        } else if (single > 0) {
            TRY(put_quote(t, head(s, length = single), "'"));
        } else if (dots > 0) {
            TRY(put_dash(t, head(s, length = dots)));
        } else {
            TRY(put(t, head(s, 1)));
        }
        s = rest(s, length);
    }
    return RILL_OK;
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

/* The text ends with an abbreviation: its full stop is the sentence's too, and the treebank writes both. Not so before a sign that
 * ends the sentence itself, or leaves it open: "in the U.S.?", "the U.S.:". */
static int shares_stop(const tokenizer *t, rill_slice core, rill_slice tail)
{
    static const char signs[] = ".!?,;:%";
    if (t->next != 0 || !ends(core, ".") || core.length < 2) return 0;
    for (size_t i = 0; i < tail.length; i++)
        if (memchr(signs, tail.data[i], sizeof signs - 1) != NULL) return 0;
    return 1;
}

/* Nothing this long is made of words; and taking brackets off one by one, each with a look for its pair, would take for ever. */
enum { LONGEST_CHUNK = 1000 };

static rill_status put_chunk(tokenizer *t, rill_slice s)
{
    if (s.length > LONGEST_CHUNK) return put(t, s);
    for (size_t length = 1; s.length > 0 && length > 0; s = rest(s, length)) TRY(put_leading(t, s, &length));
    rill_slice core = s;
    for (size_t length; core.length > 0 && (length = trailing(t, core)) > 0;) core = head(core, core.length - length);
    const rill_slice tail = rest(s, core.length);
    const int shares = shares_stop(t, core, tail);
    TRY(is_address(core) ? put(t, core) : put_core(t, core));
    if (shares) TRY(put_as(t, "."));
    return put_trailing(t, tail);
}

rill_status rill_penn_split(rill_sentence *out, const char *text, size_t length, int style)
{
    tokenizer t = {.out = out, .style = style, .first = 1};
    rill_slice left = {text, length};
    for (rill_slice chunk = rill_next_text_word(&left), next; chunk.length > 0; chunk = next, t.first = 0) {
        next = rill_next_text_word(&left);
        t.next = next.length > 0 ? next.data[0] : '\0';
        TRY(put_chunk(&t, chunk));
    }
    return RILL_OK;
}
