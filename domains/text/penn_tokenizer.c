/* Penn Treebank tokenizer. Text between two spaces has leading punctuation, a core and trailing punctuation.
 *
 * The core is split at dashes, then at contractions. Invariant: every non-space byte is in exactly one word. Only quotes, ellipses and a
 * doubled last full stop are respelled. */
#include <string.h>

#include "penn_tokenizer.h"

/* --- words of a sentence ------------------------------------------------------------------------------------------ */

/* End the current word, which consists of the bytes after the last word. */
static rill_status end_word(rill_sentence *s, int32_t tag)
{
    const size_t words = (size_t)s->words + 1;
    s->arena.ctx = s->bytes.ctx;
    TRY(GROW(&s->arena, s->end, words, "the words of a sentence"));
    TRY(GROW(&s->arena, s->tag, words, "the tags of a sentence"));
    s->end[s->words] = s->bytes.length;
    s->tag[s->words++] = tag;
    return RILL_OK;
}

rill_status rill_sentence_add_escaped(rill_sentence *s, const char *word, size_t length, int32_t tag)
{
    TRY(rill_tree_escape(&s->bytes, word, length));
    return end_word(s, tag);
}

rill_slice rill_sentence_word(const rill_sentence *s, int32_t i)
{
    size_t from = i > 0 ? s->end[i - 1] : 0;
    return (rill_slice){s->bytes.data + from, s->end[i] - from};
}

void rill_sentence_clear(rill_sentence *s)
{
    rill_context *ctx = s->bytes.ctx;
    rill_arena_clear(&s->arena);
    rill_text_clear(&s->bytes);
    *s = (rill_sentence){.bytes = {.ctx = ctx}};
}

/* --- slices of text ----------------------------------------------------------------------------------------------- */

typedef struct penn_tokenizer {
    rill_sentence *out;
    int style;
    int in_quotes;        /* 1: a double quote is open */
    char next_chunk_byte; /* first byte of the next chunk; 0: the current chunk is the last */
    int is_first_chunk;   /* 1: the current chunk is the first of the text */
} penn_tokenizer;

static int starts_with(rill_slice s, const char *with)
{
    size_t length = strlen(with);
    return s.length >= length && memcmp(s.data, with, length) == 0;
}

static int ends_with(rill_slice s, const char *with)
{
    size_t length = strlen(with);
    return s.length >= length && memcmp(s.data + s.length - length, with, length) == 0;
}

static rill_slice slice_head(rill_slice s, size_t length)
{
    return (rill_slice){s.data, length};
}

static rill_slice slice_tail(rill_slice s, size_t from)
{
    return (rill_slice){s.data + from, s.length - from};
}

static char ascii_lower(char c)
{
    return rill_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* Bytes of non-ASCII characters count as letters. */
static int is_letter(char c)
{
    return rill_is_lower(ascii_lower(c)) || (unsigned char)c >= 0x80;
}

static int equal_lower(rill_slice s, const char *word)
{
    if (s.length != strlen(word)) return 0;
    for (size_t i = 0; i < s.length; i++)
        if (ascii_lower(s.data[i]) != word[i]) return 0;
    return 1;
}

/* Returns 1 if the slice in lower case is one of the words, which spaces separate. */
static int is_one_of(rill_slice s, const char *words)
{
    char lower[8];
    if (s.length > sizeof lower) return 0;
    for (size_t i = 0; i < s.length; i++) lower[i] = ascii_lower(s.data[i]);
    return rill_word_index((rill_slice){lower, s.length}, words) >= 0;
}

/* Length of the first of the n texts with which the slice begins or, with ends_with, ends; 0: none. */
static size_t match_any(rill_slice s, const char *const *texts, size_t n, int (*test)(rill_slice, const char *))
{
    for (size_t i = 0; i < n; i++)
        if (test(s, texts[i])) return strlen(texts[i]);
    return 0;
}

#define WHICH(s, texts, test) match_any(s, texts, sizeof(texts) / sizeof *(texts), test)

/* --- output of words ---------------------------------------------------------------------------------------------- */

static rill_status put_string(penn_tokenizer *t, const char *word)
{
    TRY(rill_text_append(&t->out->bytes, word, strlen(word)));
    return end_word(t->out, RILL_NO_TAG);
}

/* Output a word of the text. Typographic apostrophes become ASCII, except in the style RILL_PENN_QUOTES. */
static rill_status put_word(penn_tokenizer *t, rill_slice word)
{
    static const char apostrophe[] = "\xE2\x80\x99";
    if (word.length == 0) return RILL_OK;
    for (size_t i = 0; i < word.length && !(t->style & RILL_PENN_QUOTES); i++) {
        if (!starts_with(slice_tail(word, i), apostrophe)) continue;
        TRY(rill_tree_escape(&t->out->bytes, word.data, i));
        TRY(rill_text_append(&t->out->bytes, "'", 1));
        word = slice_tail(word, i + sizeof apostrophe - 1);
        i = (size_t)-1;
    }
    return rill_sentence_add_escaped(t->out, word.data, word.length, RILL_NO_TAG);
}

static rill_status put_quote(penn_tokenizer *t, rill_slice as_typed, const char *as_written)
{
    return t->style & RILL_PENN_QUOTES ? put_word(t, as_typed) : put_string(t, as_written);
}

/* Returns 1 for URLs and e-mail addresses, which are not split. */
static int is_address(rill_slice s)
{
    static const char scheme[] = "://";
    if (starts_with(s, "www.") || starts_with(s, "http")) return 1;
    for (size_t i = 1; i + 1 < s.length; i++)
        if (s.data[i] == '@' || starts_with(slice_tail(s, i), scheme)) return 1;
    return 0;
}

/* --- abbreviations ------------------------------------------------------------------------------------------------ */

/* Abbreviations, in lower case and without the last full stop. */
static const char abbreviations[] =
    "adm al apr approx aug ave blvd bros brig ca calif capt cf co col colo conn corp cos dec dept dist div dr "
    "ed eds est etc feb fla ft gen gov hon hr inc jan jr jul kan lt ltd maj md messrs mich minn mlle mme mo "
    "mr mrs ms mt neb nev nov oct okla pa ph.d plc pp prof pty pvt rep reps rev sen sens sept sgt sr st ste "
    "supt tenn tex univ va viz vol vs vt wis wyo";

/* Abbreviations that are also words: before a number ("No. 3"), or capitalised ("Mass."). */
static const char number_abbreviations[] = "fig figs no nos", place_abbreviations[] = "mass ore wash";

static int is_abbreviation(const penn_tokenizer *t, rill_slice s)
{
    if (is_one_of(s, number_abbreviations)) return rill_is_digit(t->next_chunk_byte);
    return is_one_of(s, abbreviations) || (is_one_of(s, place_abbreviations) && rill_is_upper(s.data[0]));
}

/* Returns 1 for letters separated by full stops: "U.S", "e.g", "J"; but not for the word I. */
static int is_initials(rill_slice s)
{
    if (s.length == 0 || s.length % 2 == 0 || (s.length == 1 && (!rill_is_upper(s.data[0]) || s.data[0] == 'I')))
        return 0;
    for (size_t i = 0; i < s.length; i++)
        if (i % 2 == 0 ? !rill_is_lower(ascii_lower(s.data[i])) : s.data[i] != '.') return 0;
    return 1;
}

static int is_number(rill_slice s)
{
    for (size_t i = 0; i < s.length; i++)
        if (!rill_is_digit(s.data[i])) return 0;
    return s.length > 0;
}

/* Returns 1 if the word keeps its full stop: abbreviations, words before a lower-case word, a number that starts the text. A single letter
 * that ends the text does not ("vitamin C."). */
static int keeps_stop(const penn_tokenizer *t, rill_slice s)
{
    const char *dash = memrchr(s.data, '-', s.length);
    if (dash != NULL) s = slice_tail(s, (size_t)(dash + 1 - s.data)); /* "Sino-U.S.": U.S */
    if (is_abbreviation(t, s) || (is_initials(s) && (s.length > 1 || t->next_chunk_byte != 0))) return 1;
    if (t->next_chunk_byte == 0 || is_address(s)) return 0;
    return (t->next_chunk_byte >= 'a' && t->next_chunk_byte <= 'z') || (t->is_first_chunk && is_number(s));
}

/* --- contractions ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    size_t cut;
} fused_words[] = {{"cannot", 3}, {"gonna", 3}, {"gotta", 3}, {"wanna", 3}, {"lemme", 3},
                   {"gimme", 3},  {"'tis", 2},  {"'twas", 2}, {"d'ye", 2}};

/* The offset of the clitic in a contraction; the length of `s` if it is not a contraction. */
static size_t contraction_offset(rill_slice s)
{
    static const char *const apostrophes[] = {"'", "\xE2\x80\x99"};
    static const char tails[] = "s m d re ve ll";
    for (size_t i = 0; i < sizeof fused_words / sizeof *fused_words; i++)
        if (equal_lower(s, fused_words[i].word)) return fused_words[i].cut;
    for (size_t a = 0; a < 2; a++) {
        const size_t width = strlen(apostrophes[a]);
        for (size_t pos = s.length; pos-- > 1;) {
            if (!starts_with(slice_tail(s, pos), apostrophes[a])) continue;
            const rill_slice tail = slice_tail(s, pos + width);
            if (is_one_of(tail, tails)) return pos;
            if (equal_lower(tail, "t") && ascii_lower(s.data[pos - 1]) == 'n' && pos > 1) return pos - 1;
            break;
        }
    }
    return s.length;
}

static rill_status put_contracted(penn_tokenizer *t, rill_slice s)
{
    const size_t cut = contraction_offset(s);
    TRY(put_word(t, slice_head(s, cut)));
    return put_word(t, slice_tail(s, cut));
}

/* --- core of a chunk ---------------------------------------------------------------------------------------------- */

static const char *const dashes[] = {"---", "--", "\xE2\x80\x94", "\xE2\x80\x93", "...", "\xE2\x80\xA6"};

/* The length of the separator (a dash, an ellipsis, punctuation) at `pos` of the core; 0: none. */
static size_t separator_length(const penn_tokenizer *t, rill_slice s, size_t pos)
{
    static const char prefix_signs[] = ",;!?";
    const char c = s.data[pos];
    const size_t dash = WHICH(slice_tail(s, pos), dashes, starts_with);
    if (dash > 0) return dash;
    if (pos == 0 || pos + 1 == s.length) return 0;
    const char prev_byte = s.data[pos - 1], next_byte = s.data[pos + 1];
    if (c != '\0' && strchr(prefix_signs, c) != NULL) return !rill_is_digit(prev_byte) || !rill_is_digit(next_byte);
    if (c == '-' && (t->style & RILL_PENN_HYPHENS)) return is_letter(prev_byte) && is_letter(next_byte);
    return 0;
}

static rill_status put_dash(penn_tokenizer *t, rill_slice dash)
{
    return starts_with(dash, "\xE2\x80\xA6") && !(t->style & RILL_PENN_QUOTES) ? put_string(t, "...")
                                                                               : put_word(t, dash);
}

static rill_status put_core(penn_tokenizer *t, rill_slice s)
{
    size_t from = 0;
    for (size_t pos = 0; pos < s.length;) {
        const size_t length = separator_length(t, s, pos);
        if (length == 0) {
            pos++;
            continue;
        }
        TRY(put_contracted(t, slice_head(slice_tail(s, from), pos - from)));
        TRY(put_dash(t, slice_head(slice_tail(s, pos), length)));
        from = pos += length;
    }
    return put_contracted(t, slice_tail(s, from));
}

/* --- leading punctuation ------------------------------------------------------------------------------------------ */

/* `s` follows an apostrophe. Returns 0 if that is a quote, 1 if it belongs to the word: 'tis, '90s. */
static int is_elision(rill_slice s)
{
    static const char words[] = "s m d t re ve ll em til tis twas cause n n' bout round";
    return s.length > 0 && (rill_is_digit(s.data[0]) || is_one_of(s, words));
}

/* Output one leading punctuation mark of the chunk; *length = its length in bytes, 0 if there is none. */
static rill_status put_leading(penn_tokenizer *t, rill_slice s, size_t *length)
{
    static const char *const brackets[] = {"(", "[", "{"};
    static const char *const quotes[] = {"``", "\"", "\xE2\x80\x9C", "\xE2\x80\x9E", "\xC2\xAB"};
    static const char *const single[] = {"`", "\xE2\x80\x98"};
    static const char *const signs[] = {",", ";", ":", "!", "?", "\xC2\xBF", "\xC2\xA1"};
    static const char *const money[] = {"$", "\xC2\xA3", "\xE2\x82\xAC", "\xC2\xA5"};
    if ((*length = WHICH(s, dashes, starts_with)) > 0) return put_dash(t, slice_head(s, *length));
    if ((*length = WHICH(s, brackets, starts_with)) > 0 || (*length = WHICH(s, signs, starts_with)) > 0)
        return put_word(t, slice_head(s, *length));
    if ((*length = WHICH(s, money, starts_with)) > 0 && s.length > *length &&
        (rill_is_digit(s.data[*length]) || s.data[*length] == '.'))
        return put_word(t, slice_head(s, *length));
    if ((*length = WHICH(s, quotes, starts_with)) > 0) {
        /* a chunk that is only a quote closes an open one */
        const int closes = s.length == 1 && t->in_quotes;
        t->in_quotes = !closes;
        return put_quote(t, slice_head(s, *length), closes ? "''" : "``");
    }
    if ((*length = WHICH(s, single, starts_with)) > 0) return put_quote(t, slice_head(s, *length), "`");
    *length = starts_with(s, "''") ? 2 : starts_with(s, "'") && s.length > 1 && !is_elision(slice_tail(s, 1));
    if (*length == 2) return put_word(t, slice_head(s, 2));
    return *length == 1 ? put_quote(t, slice_head(s, 1), "`") : RILL_OK;
}

/* --- trailing punctuation ----------------------------------------------------------------------------------------- */

static const char *const closing_quotes[] = {"''", "\"", "\xE2\x80\x9D", "\xC2\xBB"};
static const char *const closing_single[] = {"'", "\xE2\x80\x99"};
static const char *const closing_signs[] = {",", ";", ":", "!", "?", "%"};
static const char *const closing_dots[] = {"...", "..", "\xE2\x80\xA6"};

/* Returns 1 for a final closing bracket that is punctuation: the slice lacks its opening bracket, unlike "word(s)". */
static int is_unmatched_close(rill_slice s)
{
    static const char pairs[] = ")(][}{";
    const char *pair = strchr(pairs, s.data[s.length - 1]);
    return pair != NULL && (pair - pairs) % 2 == 0 && memchr(s.data, pair[1], s.length - 1) == NULL;
}

/* Length in bytes of the last punctuation mark; 0 if there is none, or if it belongs to the word. */
static size_t trailing_length(const penn_tokenizer *t, rill_slice s)
{
    size_t length;
    if ((length = WHICH(s, closing_quotes, ends_with)) > 0 || (length = WHICH(s, closing_signs, ends_with)) > 0 ||
        (length = WHICH(s, closing_dots, ends_with)) > 0)
        return length;
    if ((length = WHICH(s, closing_single, ends_with)) > 0) {
        const rill_slice head_part = slice_head(s, s.length - length);
        /* the apostrophe belongs to "doin'" and "'n'"; alone it is a word itself */
        return ends_with(head_part, "in") || equal_lower(head_part, "'n") || head_part.length == 0 ? 0 : length;
    }
    if (ends_with(s, ".")) return s.length > 1 && !keeps_stop(t, slice_head(s, s.length - 1));
    return is_unmatched_close(s);
}

static rill_status put_trailing(penn_tokenizer *t, rill_slice s)
{
    while (s.length > 0) {
        size_t length = 1;
        const size_t quote = WHICH(s, closing_quotes, starts_with), single = WHICH(s, closing_single, starts_with),
                     dots = WHICH(s, closing_dots, starts_with);
        if (quote > 0) {
            t->in_quotes = 0;
            TRY(put_quote(t, slice_head(s, length = quote), "''"));
        } else if (single > 0) {
            TRY(put_quote(t, slice_head(s, length = single), "'"));
        } else if (dots > 0) {
            TRY(put_dash(t, slice_head(s, length = dots)));
        } else {
            TRY(put_word(t, slice_head(s, 1)));
        }
        s = slice_tail(s, length);
    }
    return RILL_OK;
}

/* --- chunks between spaces ---------------------------------------------------------------------------------------- */

/* Treebanks write the full stop twice if it ends an abbreviation and the text, but not before another mark: "in the
 * U.S.?". */
static int shares_stop(const penn_tokenizer *t, rill_slice core, rill_slice tail)
{
    static const char signs[] = ".!?,;:%";
    if (t->next_chunk_byte != 0 || !ends_with(core, ".") || core.length < 2) return 0;
    for (size_t i = 0; i < tail.length; i++)
        if (memchr(signs, tail.data[i], sizeof signs - 1) != NULL) return 0;
    return 1;
}

/* Longest chunk that is split, in bytes. Natural text has none longer, and bracket matching takes quadratic time. */
enum { LONGEST_CHUNK = 1000 };

static rill_status put_chunk(penn_tokenizer *t, rill_slice s)
{
    if (s.length > LONGEST_CHUNK) return put_word(t, s);
    for (size_t length = 1; s.length > 0 && length > 0; s = slice_tail(s, length)) TRY(put_leading(t, s, &length));
    rill_slice core = s;
    for (size_t length; core.length > 0 && (length = trailing_length(t, core)) > 0;)
        core = slice_head(core, core.length - length);
    const rill_slice tail = slice_tail(s, core.length);
    const int shares = shares_stop(t, core, tail);
    TRY(is_address(core) ? put_word(t, core) : put_core(t, core));
    if (shares) TRY(put_string(t, "."));
    return put_trailing(t, tail);
}

rill_status rill_penn_split(rill_sentence *out, const char *text, size_t length, int style)
{
    penn_tokenizer t = {.out = out, .style = style, .is_first_chunk = 1};
    rill_slice remaining = {text, length};
    for (rill_slice chunk = rill_next_text_word(&remaining), next; chunk.length > 0;
         chunk = next, t.is_first_chunk = 0) {
        next = rill_next_text_word(&remaining);
        t.next_chunk_byte = next.length > 0 ? next.data[0] : '\0';
        TRY(put_chunk(&t, chunk));
    }
    return RILL_OK;
}
