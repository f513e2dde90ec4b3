/* Bias, log-softmax and the B best symbols of a row.
 *
 * A row is processed in pieces that stay in L1. Lanes have disjoint symbols, so the B-th largest lane maximum is a lower bound for the
 * B-th best symbol. Only symbols that reach the bound become candidates.
 *
 * Invariant: choice and order depend only on logp (x - log_norm, one rounding) and id, since different x may round to equal logp.
 * Candidates are in ascending id, so ties go to the smaller one. */
#include <assert.h>
#include <float.h>

#include "vec.h"

#define PIECE 512 /* symbols that are processed at a time: 2 KB of logits */
#define SPANS 64  /* maximum spans of a row; a span is one or more whole pieces */
/* maximum number of candidates that are ranked by counting; more are ranked by radix selection or insertion */
#define RANK_MAX 256
#define WAYS 4 /* number of separate vectors of lane maxima: vector i of a piece belongs to way i % WAYS */

typedef struct row {
    /* logits of one row, and the bias and addend to add to them; these two may be NULL */
    const float *logits, *bias, *add;
    const uint64_t *legal; /* bit set of legal symbols; NULL: all symbols are legal */
    size_t symbols, span;  /* number of symbols: of the row; of one span (a multiple of PIECE) */
    int normalise;
} row;

typedef struct scan {
    vf lane_max, lane_sum; /* online softmax: maximum and sum of each lane */
    vf group[WAYS];        /* lane maxima over the legal symbols of each way */
    vm non_finite;         /* lanes that saw NaN or +infinity; used only without a normaliser */
    _Alignas(64) float x[PIECE];
    /* for each span, a vector with the maximum of each lane; used only for rows of several spans */
    float span_max[SPANS * VL];
} scan;

typedef struct candidates {
    size_t count;
    _Alignas(64) float logp[PIECE + VL];
    int32_t id[PIECE + VL];
} candidates;

/* ---- reading a piece of a row ---------------------------------------------------------------------------- */

RILL_INLINE vf minus_infinity(void)
{
    return v_set1(-INFINITY);
}

/* Flags for a row's optional inputs. Loops over symbols are compiled once per combination. */
enum { BIAS = 1, ADD = 2, LEGAL = 4, VARIANTS = 8 };

static int row_variant(const row *r)
{
    return (r->bias ? BIAS : 0) | (r->add ? ADD : 0) | (r->legal ? LEGAL : 0);
}

RILL_INLINE vf row_vector(const row *r, size_t v, size_t n, const int variant)
{
    vf x = v_load_n(r->logits + v, n);
    if (variant & BIAS) x = v_add(x, v_load_n(r->bias + v, n));
    if (variant & ADD) x = v_add(x, v_load_n(r->add + v, n));
    return n >= VL ? x : v_blend(vm_first(n), x, minus_infinity());
}

RILL_INLINE vm legal_lanes(const row *r, size_t v)
{
    return vm_bits((unsigned)(r->legal[v / 64] >> (v % 64)) & ((1u << VL) - 1u));
}

/* Lane maxima of the piece being read: over all symbols, and over the legal symbols of each way (see WAYS). */
typedef struct piece_max {
    vf all, way[WAYS];
} piece_max;

RILL_INLINE void read_vector(const row *r, float *x, piece_max *p, size_t v, size_t n, const int way, const int variant)
{
    const vf y = row_vector(r, v, n, variant);
    v_store(x, y);
    if (variant & LEGAL) p->all = v_max(y, p->all);
    p->way[way] = v_max(variant & LEGAL ? v_blend(legal_lanes(r, v), y, minus_infinity()) : y, p->way[way]);
}

/* Read symbols [v, v + n), n <= PIECE, into x; pad the last vector with -infinity. Returns the piece's maxima. */
RILL_INLINE piece_max read_piece_as(const row *r, float *x, size_t v, size_t n, const int variant)
{
    piece_max p = {minus_infinity(), {minus_infinity(), minus_infinity(), minus_infinity(), minus_infinity()}};
    size_t i = 0;
    for (; i + WAYS * VL <= n; i += WAYS * VL)
        for (size_t way = 0; way < WAYS; way++)
            read_vector(r, x + i + way * VL, &p, v + i + way * VL, VL, (int)way, variant);
    for (size_t way = 0; way < WAYS; way++, i += VL)
        if (i < n) read_vector(r, x + i, &p, v + i, n - i, (int)way, variant);
    if (!(variant & LEGAL)) p.all = v_max(v_max(p.way[0], p.way[1]), v_max(p.way[2], p.way[3]));
    return p;
}

RILL_INLINE piece_max read_piece_variant(const row *r, float *x, size_t v, size_t n)
{
    switch (row_variant(r)) {
    case 0: return read_piece_as(r, x, v, n, 0);
    case BIAS: return read_piece_as(r, x, v, n, BIAS);
    case ADD: return read_piece_as(r, x, v, n, ADD);
    case BIAS | ADD: return read_piece_as(r, x, v, n, BIAS | ADD);
    case LEGAL: return read_piece_as(r, x, v, n, LEGAL);
    case LEGAL | BIAS: return read_piece_as(r, x, v, n, LEGAL | BIAS);
    case LEGAL | ADD: return read_piece_as(r, x, v, n, LEGAL | ADD);
    default: return read_piece_as(r, x, v, n, LEGAL | BIAS | ADD);
    }
}

/* Read a piece into s->x and update the maxima in *s. Returns the lane maxima over all its symbols, legal or not. */
static vf read_piece(const row *r, scan *s, size_t v, size_t n)
{
    const piece_max p = read_piece_variant(r, s->x, v, n);
    for (int way = 0; way < WAYS; way++) s->group[way] = v_max(p.way[way], s->group[way]);
    if (r->symbols > r->span) {
        const vf top = v_max(v_max(p.way[0], p.way[1]), v_max(p.way[2], p.way[3]));
        float *const span = s->span_max + v / r->span * VL;
        v_store(span, v_max(top, v_load(span)));
    }
    return p.all;
}

/* Record the lanes of s->x with NaN or +infinity. Without a log-normaliser, no sum shows them. */
static void find_non_finite(scan *s, size_t n)
{
    for (size_t i = 0; i < n; i += VL)
        s->non_finite = vm_or(s->non_finite, v_not_less(v_load(s->x + i), v_set1(INFINITY)));
}

/* ---- the log-normaliser ---------------------------------------------------------------------------------- */

/* Prefetch two vectors at symbol v, which is in the next piece. */
RILL_INLINE void fetch_ahead(const row *r, size_t v)
{
    if (v >= r->symbols) return;
    for (size_t i = 0; i < 2 * VL; i += 16) {
        __builtin_prefetch(r->logits + v + i);
        if (r->bias) __builtin_prefetch(r->bias + v + i);
    }
}

/* Add exp(x - max) of the n symbols in s->x to the lane sums. -FLT_MAX as maximum avoids -infinity - -infinity; +infinity gives NaN. */
static void sum_piece(const row *r, scan *s, size_t v, size_t n, vf top)
{
    const vf max = v_max(top, s->lane_max), none = v_zero();
    vf even = none, odd = none;
    size_t i = 0;
    for (; i + VL < n; i += 2 * VL) {
        fetch_ahead(r, v + i + PIECE);
        even = v_add_exp(even, v_sub(v_load(s->x + i), max));
        odd = v_add_exp(odd, v_sub(v_load(s->x + i + VL), max));
    }
    if (i < n) even = v_add_exp(even, v_sub(v_load(s->x + i), max));
    s->lane_sum = v_fma(s->lane_sum, v_add_exp(none, v_sub(s->lane_max, max)), v_add(even, odd));
    s->lane_max = max;
}

/* Return 1 if the row has an x above -infinity, else 0. Called only if the maximum is -FLT_MAX, the initial value. */
static int has_finite(const row *r)
{
    for (size_t v = 0; v < r->symbols; v += VL)
        if (vm_to_bits(v_gt(row_vector(r, v, r->symbols - v, row_variant(r)), minus_infinity()))) return 1;
    return 0;
}

static float log_norm(const row *r, const scan *s)
{
    const float max = v_hmax(s->lane_max);
    const float sum = v_sum(v_mul(s->lane_sum, v_add_exp(v_zero(), v_sub(s->lane_max, v_set1(max)))));
    if (max == -FLT_MAX && sum == sum && !has_finite(r)) return -INFINITY;
    return max + logf(sum);
}

/* Scan the whole row once. Returns log_norm, or 0 without a normaliser; NaN if the row has NaN or +infinity. */
static float scan_row(const row *r, scan *s)
{
    s->lane_max = v_set1(-FLT_MAX);
    s->lane_sum = v_zero();
    s->non_finite = vm_bits(0);
    for (int way = 0; way < WAYS; way++) s->group[way] = minus_infinity();
    if (r->symbols > r->span)
        for (size_t i = 0; i * r->span < r->symbols; i++) v_store(s->span_max + i * VL, minus_infinity());
    for (size_t v = 0; v < r->symbols; v += PIECE) {
        const size_t n = r->symbols - v < PIECE ? r->symbols - v : PIECE;
        const vf max = read_piece(r, s, v, n);
        if (r->normalise)
            sum_piece(r, s, v, n, max);
        else
            find_non_finite(s, n);
    }
    if (r->normalise) return log_norm(r, s);
    return vm_to_bits(s->non_finite) ? NAN : 0.0f;
}

/* ---- a lower bound of the B-th best ---------------------------------------------------------------------- */

/* Return the b-th largest of count * VL values: the largest value that at least b values reach. */
RILL_INLINE float kth_largest(const vf *x, const int count, size_t b)
{
    float each[2 * VL];
    vi reach[2];
    vf best = minus_infinity();
    for (int i = 0; i < count; i++) {
        v_store(each + i * VL, x[i]);
        reach[i] = vi_set1(0);
    }
    for (int j = 0; j < count * VL; j++) {
        const vf y = v_set1(each[j]);
        for (int i = 0; i < count; i++) reach[i] = vi_count(reach[i], v_ge(y, x[i]));
    }
    for (int i = 0; i < count; i++)
        best = v_max(v_blend(vi_gt(reach[i], vi_set1((int32_t)b - 1)), x[i], minus_infinity()), best);
    return v_hmax(best);
}

/* Return how many of count * VL values are >= low. */
RILL_INLINE size_t count_reaching(const float *x, size_t count, float low)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += (size_t)__builtin_popcount(vm_to_bits(v_ge(v_load(x + i * VL), v_set1(low))));
    return n;
}

/* Return a value that at least b of count * VL values reach, and few more; -infinity if none is within 2^20 of the maximum. */
static float kth_largest_bisect(const float *x, size_t count, size_t b)
{
    vf top = minus_infinity();
    for (size_t i = 0; i < count; i++) top = v_max(v_load(x + i * VL), top);
    float high = v_hmax(top), step = 1.0f, low;
    for (low = high - step; count_reaching(x, count, low) < b; low = high - step)
        if ((step *= 4.0f) > 0x1p20f || !(high > -INFINITY)) return -INFINITY;
    for (int turn = 0; turn < 12; turn++) {
        const float middle = low + 0.5f * (high - low);
        const size_t n = count_reaching(x, count, middle);
        if (n < b)
            high = middle;
        else
            low = middle;
        if (n >= b && n <= b + b / 8 + 4) break;
    }
    return low;
}

/* Set the illegal symbols in s->x to -infinity. The normaliser, which counts them, must be known already. */
static void drop_illegal(const row *r, scan *s)
{
    for (size_t v = 0; v < r->symbols; v += VL)
        v_store(s->x + v, v_blend(legal_lanes(r, v), v_load(s->x + v), minus_infinity()));
}

/* Return a value that at least b legal symbols of the row reach; -infinity if unknown. Maxima of groups are a cheap bound, loose for large
 * b. */
static float kth_lower_bound(const row *r, scan *s, size_t b)
{
    const vf two[2] = {v_max(s->group[0], s->group[2]), v_max(s->group[1], s->group[3])};
    const vf one = v_max(two[0], two[1]);
    if (b == 1) return v_hmax(one);
    if (b <= VL / 2 + 2) return kth_largest(&one, 1, b);
    if (b <= VL + VL / 2) return kth_largest(two, 2, b);
    if (r->symbols > PIECE) return kth_largest_bisect(s->span_max, (r->symbols + r->span - 1) / r->span, b);
    if (r->legal) drop_illegal(r, s);
    return kth_largest_bisect(s->x, (r->symbols + VL - 1) / VL, b);
}

/* ---- collecting candidates ------------------------------------------------------------------------------- */

/* Append candidates: those of the VL symbols from v on whose logp reaches `low`. x: the symbols' logits, with bias and addend. */
RILL_INLINE void collect(const row *r, candidates *c, vf x, size_t v, float norm, vf low)
{
    const vf logp = v_sub(x, v_set1(norm));
    vm m = v_ge(logp, low);
    if (r->legal) m = vm_and(m, legal_lanes(r, v));
    const unsigned bits = vm_to_bits(m);
    v_store_packed(c->logp + c->count, bits, logp);
    vi_store_packed(c->id + c->count, bits, vi_add(vi_set1((int32_t)v), vi_lanes()));
    c->count += (size_t)__builtin_popcount(bits);
}

/* Returns a bit set: bit i is set if vector i of the piece has a candidate. */
RILL_INLINE uint64_t find_candidates(const row *r, const float *x, size_t begin, size_t n, float norm, vf low)
{
    uint64_t some = 0;
    for (size_t i = 0; i * VL < n; i++) {
        vm m = v_ge(v_sub(v_load(x + i * VL), v_set1(norm)), low);
        if (r->legal) m = vm_and(m, legal_lanes(r, begin + i * VL));
        some |= (uint64_t)(vm_to_bits(m) != 0) << i;
    }
    return some;
}

/* Remove candidates that are not among the b best, and raise *low. Returns false if too many remain, for example because of ties. */
static __attribute__((noinline)) int prune_candidates(candidates *c, size_t b, vf *low)
{
    const size_t all = c->count;
    v_store(c->logp + all, minus_infinity());
    const vf reached = v_set1(kth_largest_bisect(c->logp, (all + VL - 1) / VL, b));
    *low = v_max(reached, *low);
    c->count = 0;
    for (size_t i = 0; i < all; i += VL) {
        const vf logp = v_load(c->logp + i);
        const unsigned bits = vm_to_bits(v_ge(logp, *low)) & (all - i < VL ? (1u << (all - i)) - 1u : (1u << VL) - 1u);
        vi_store_packed(c->id + c->count, bits, vi_load(c->id + i));
        v_store_packed(c->logp + c->count, bits, logp);
        c->count += (size_t)__builtin_popcount(bits);
    }
    return c->count <= RANK_MAX;
}

/* Append the candidates of a piece, x[0..n). In a short piece every vector is packed, which is cheaper than mispredicted branches. Returns
 * false if the candidates do not fit. */
static int collect_piece(const row *r, const float *x, size_t begin, size_t n, candidates *c, size_t b, float norm,
                         vf *low)
{
    uint64_t some = ~(uint64_t)0;
    if (n > 16 * VL)
        some = find_candidates(r, x, begin, n, norm, *low);
    else
        some >>= 64 - (n + VL - 1) / VL;
    for (; some; some &= some - 1) {
        const size_t i = (size_t)__builtin_ctzll(some) * VL;
        if (c->count > PIECE - VL && !prune_candidates(c, b, low)) return 0;
        collect(r, c, v_load(x + i), begin + i, norm, *low);
    }
    return 1;
}

/* Collect all candidates of the row; false if they do not fit. A row of one piece is still in s->x. */
static int collect_all(const row *r, scan *s, candidates *c, size_t b, float norm, vf low)
{
    if (r->symbols <= PIECE) {
        if (!collect_piece(r, s->x, 0, r->symbols, c, b, norm, &low)) return 0;
    } else {
        for (size_t v = 0; v < r->symbols; v += PIECE) {
            const size_t n = r->symbols - v < PIECE ? r->symbols - v : PIECE;
            if (!vm_to_bits(v_ge(v_sub(v_load(s->span_max + v / r->span * VL), v_set1(norm)), low))) continue;
            read_piece_variant(r, s->x, v, n);
            if (!collect_piece(r, s->x, v, n, c, b, norm, &low)) return 0;
        }
    }
    return c->count <= b + b / 4 + 4 * VL || prune_candidates(c, b, &low);
}

/* ---- ranking few candidates ------------------------------------------------------------------------------ */

/* rank[i] = number of candidates before candidate i; ties by position. c->logp is readable up to a whole vector. Not inlined, so that
 * ranks stay in memory. */
static __attribute__((noinline)) void rank_candidates(const candidates *c, int32_t *rank)
{
    const int32_t n = (int32_t)c->count;
    for (int32_t i = 0; i < n; i += VL) {
        const vf mine = v_load(c->logp + i);
        const int32_t end = n < i + VL ? n : i + VL;
        vi n_before = vi_set1(0);
        int32_t j = 0;
        for (; j < i; j++) n_before = vi_count(n_before, v_ge(v_set1(c->logp[j]), mine));
        for (; j < end; j++) {
            const vf other = v_set1(c->logp[j]);
            const vm is_later = vi_gt(vi_lanes(), vi_set1(j - i));
            n_before = vi_count(n_before, vm_or(v_gt(other, mine), vm_and(v_ge(other, mine), is_later)));
        }
        for (; j < n; j++) n_before = vi_count(n_before, v_gt(v_set1(c->logp[j]), mine));
        vi_store(rank + i, n_before);
    }
}

/* Write up to `best` candidates to ids and logp, best first. Returns their number. */
static size_t put_ranked(candidates *c, size_t best, int32_t *ids, float *logp)
{
    int32_t rank[RANK_MAX + VL], id[RANK_MAX + VL];
    float score[RANK_MAX + VL];
    const size_t count = c->count < best ? c->count : best;
    v_store(c->logp + c->count, minus_infinity());
    rank_candidates(c, rank);
    for (size_t i = 0; i < c->count; i++) {
        id[rank[i]] = c->id[i];
        score[rank[i]] = c->logp[i];
    }
    memcpy(ids, id, count * sizeof *ids);
    memcpy(logp, score, count * sizeof *logp);
    return count;
}

/* ---- selecting the best symbols of a row ----------------------------------------------------------------- */

/* The B best keys (rill_best_key; a lower key is better) of a row: all keys below `first`, and the `ties` best of the keys in
 * [first, first + (1 << shift)). */
typedef struct key_cut {
    uint64_t first;
    int shift;
    size_t ties;
} key_cut;

/* Replace the contents of *c by the candidates among the VL symbols from v on. */
RILL_INLINE void collect_vector(const row *r, candidates *c, size_t v, float norm, vf low)
{
    c->count = 0;
    collect(r, c, row_vector(r, v, r->symbols - v, row_variant(r)), v, norm, low);
}

/* Radix selection: count keys in buckets, then subdivide the bucket of the B-th best key. `top` is the best score. */
static key_cut find_cut(const row *r, size_t best, float norm, vf low, float top)
{
    enum { BUCKETS = 2048, FIRST = 15, ALL = 21 };
    key_cut key_limit = {rill_best_key(top), FIRST, best};
    candidates c;
    for (;;) {
        uint32_t have[BUCKETS] = {0}, bucket = 0;
        for (size_t v = 0; v < r->symbols; v += VL) {
            collect_vector(r, &c, v, norm, low);
            for (size_t i = 0; i < c.count; i++) {
                /* for keys below `first` the difference wraps around, so such a key is in no bucket */
                const uint64_t bucket_of_key = (rill_best_key(c.logp[i]) - key_limit.first) >> key_limit.shift;
                if (bucket_of_key < BUCKETS) have[bucket_of_key]++;
            }
        }
        for (; bucket < BUCKETS && have[bucket] < key_limit.ties; bucket++) key_limit.ties -= have[bucket];
        key_limit.first += (uint64_t)bucket << key_limit.shift;
        if (key_limit.first > UINT32_MAX) return key_limit; /* the row has at most B candidates */
        if (bucket == BUCKETS)
            key_limit.shift = ALL;
        else if (have[bucket] <= RANK_MAX || key_limit.shift == 0)
            return key_limit;
        else
            key_limit.shift = key_limit.shift > 11 ? key_limit.shift - 11 : 0;
    }
}

/* Write the B best ids and logp: take all keys below the cut and the best keys at the cut, then sort. */
static size_t put_many(const row *r, size_t best, float norm, vf low, float top, int32_t *ids, float *logp)
{
    size_t count = 0, few = 0;
    int32_t id[RANK_MAX];
    float score[RANK_MAX];
    candidates c;
    key_cut key_limit = find_cut(r, best, norm, low, top);
    for (size_t v = 0; v < r->symbols; v += VL) {
        collect_vector(r, &c, v, norm, low);
        for (size_t i = 0; i < c.count; i++) {
            const uint64_t key = rill_best_key(c.logp[i]);
            if (key >= key_limit.first) {
                if ((key - key_limit.first) >> key_limit.shift > 0 || key_limit.ties == 0) continue;
                if (key_limit.shift > 0) {
                    id[few] = c.id[i];
                    score[few++] = c.logp[i];
                    continue;
                }
                key_limit.ties--; /* all keys at the cut are equal: take the smallest ids */
            }
            ids[count] = c.id[i];
            logp[count++] = c.logp[i];
        }
    }
    rill_best_sort(id, score, few);
    for (size_t i = 0; i < few && key_limit.ties > 0; i++, key_limit.ties--) {
        ids[count] = id[i];
        logp[count++] = score[i];
    }
    rill_best_sort(ids, logp, count);
    return count;
}

/* Write the B best by insertion, for any B and any number of ties. `low` rises to the worst kept score. */
static size_t put_inserted(const row *r, size_t best, float norm, vf low, int32_t *ids, float *logp)
{
    size_t count = 0;
    candidates c;
    for (size_t v = 0; v < r->symbols; v += VL) {
        collect_vector(r, &c, v, norm, low);
        for (size_t i = 0; i < c.count; i++) count = rill_best_insert(ids, logp, count, best, c.id[i], c.logp[i]);
        if (count == best) low = v_max(v_set1(logp[count - 1]), low);
    }
    return count;
}

static float max_legal_logit(const scan *s)
{
    return v_hmax(v_max(v_max(s->group[0], s->group[2]), v_max(s->group[1], s->group[3])));
}

static size_t put_best(const row *r, scan *s, size_t best, float norm, int32_t *ids, float *logp)
{
    if (!(norm > -INFINITY)) return 0; /* log_norm is NaN: the row is invalid; -infinity: every x is -infinity */
    candidates c;
    c.count = 0;
    const vf low = v_max(v_set1(kth_lower_bound(r, s, best) - norm), v_set1(-FLT_MAX));
    const int fit = collect_all(r, s, &c, best, norm, low) && c.count <= RANK_MAX;
    if (!fit && best > RANK_MAX) return put_many(r, best, norm, low, max_legal_logit(s) - norm, ids, logp);
    if (!fit && best > 1) return put_inserted(r, best, norm, low, ids, logp);
    if (best > 1) return put_ranked(&c, best, ids, logp);
    if (c.count == 0) return 0;
    ids[0] = c.id[0]; /* all candidates equal the maximum; the first has the smallest id */
    logp[0] = c.logp[0];
    return 1;
}

static void rows(const void *arg, size_t begin, size_t end)
{
    const rill_best *b = arg;
    const size_t pieces = (b->symbols + PIECE - 1) / PIECE;
    row r = {.bias = b->bias, .symbols = b->symbols, .normalise = !b->raw};
    scan s;
    r.span = (pieces + SPANS - 1) / SPANS * PIECE;
    for (size_t i = begin; i < end; i++) {
        const int any = !b->legal || rill_row_absent(b->legal_index, i);
        r.logits = rill_operand_row(&b->logits, i);
        r.add = rill_operand_row(&b->add, i);
        r.legal = any ? NULL : b->legal + rill_row_index(b->legal_index, i) * b->ld_legal;
        const float norm = scan_row(&r, &s);
        b->counts[i] = (int32_t)put_best(&r, &s, b->n_best, norm, b->ids + i * b->ld_out, b->logp + i * b->ld_out);
        if (b->log_norm) b->log_norm[i] = norm;
    }
}

void RILL_FN(rill_best_f32)(const rill_best *b, rill_pool *pool)
{
    if (b->rows == 0) return;
    assert(b->logits.data && b->ids && b->logp && b->counts && b->symbols >= 1 && b->symbols < INT32_MAX);
    assert(b->n_best >= 1 && b->ld_out >= b->n_best);
    rill_parallel_for(pool, rows, b, b->rows, 100.0 + (double)b->symbols * 8.0 / VL);
}
