/* Top-M symbols of rows, and log-probabilities of requested symbols.
 *
 * A 64-bit key orders symbols by value, then by smaller symbol. Each warp keeps its best keys in registers.
 *
 * Different logits may round to the same log-probability. So the top M + 1 logits are found, and the row is read again if the last two tie.
 *
 * Long rows are cut into parts, whose number depends only on V, the number of symbols. If rows are few, each part has a block, and a second
 * kernel merges them. For M >= BEST_MANY, radix selection finds the M-th key. */
#include "collective.cuh"
#include "symbols.cuh"

enum {
    BEST_MANY = 128, /* smallest M for which best_many() selects */
    BEST_PENDING = GPU_WARP *
                   (SYMBOLS_READ + 1), /* keys of a warp that are not merged yet: fewer than 32, plus those of a step */
    BEST_SPLIT = 16384,                /* rows with more symbols are cut into parts */
    BEST_PART = 8192,                  /* approximate number of symbols of a part */
    BEST_FULL_ROWS =
        160, /* with fewer rows, each part of a row has its own block; on an H100 both ways take the same time with 150 rows */
    BEST_PARTS = GPU_WARP, /* maximum number of parts of a row: one lane each */
};

typedef struct best_call {
    gpu_best a;
    int32_t want;          /* M, or 0 for the log-normaliser alone */
    int32_t parts, length; /* parts of a row; symbols of a part, a multiple of 4 */
    uint64_t *key;         /* [rows, parts, want + 1] best keys of each part, descending; unused if want is 0 */
    symbols_total *total;  /* [rows, parts] log-sum-exp of each part */
} best_call;

/* --- sort keys ---------------------------------------------------------------------------------------------------- */

/* Map a float to an integer so that larger floats have larger integers. No number maps to 0, which stands for "no symbol". */
__device__ static inline uint32_t best_order(float x)
{
    const uint32_t bits = __float_as_uint(x + 0.0f); /* the addition makes -0 and 0 equal */
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ static inline float best_value(uint32_t order)
{
    return __uint_as_float(order & 0x80000000u ? order ^ 0x80000000u : ~order);
}

__device__ static inline uint64_t best_key(float x, int32_t v)
{
    return (uint64_t)best_order(x) << 32 | ~(uint32_t)v;
}

__device__ static inline float best_key_value(uint64_t key)
{
    return best_value((uint32_t)(key >> 32));
}

__device__ static inline int32_t best_key_symbol(uint64_t key)
{
    return (int32_t) ~(uint32_t)key;
}

__device__ static inline symbols_row best_row(const gpu_best &a, int32_t r)
{
    return symbols_get_row(a.logits, a.bias, gpu_row(a.add, r), a.subsets, a.slot, a.symbols, r);
}

__device__ static inline int32_t best_action(const gpu_best &a, const symbols_row &s, int32_t v)
{
    return s.id != nullptr ? s.id[v] : v + a.first_action;
}

/* The row's legal set; NULL: all actions are legal. */
__device__ static inline const uint64_t *best_legal(const gpu_best &a, int32_t r)
{
    if (a.legal == nullptr || a.set == nullptr || a.set[r] < 0) return nullptr;
    return a.legal + (size_t)a.set[r] * (size_t)a.legal_words;
}

__device__ static inline bool best_is_legal(const gpu_best &a, const symbols_row &s, const uint64_t *legal, int32_t v)
{
    if (legal == nullptr) return true;
    const int32_t action = best_action(a, s, v);
    return action >= 0 && action / 64 < a.legal_words && (legal[action / 64] >> (action % 64) & 1) != 0;
}

/* --- the best keys of a warp -------------------------------------------------------------------------------------- */

/* Steps of a bitonic sorting network over 32 N keys, with strides STRIDE, STRIDE / 2, ..., 1. Key i is in register i / 32 of lane i % 32.
 * The larger key comes first if i & SIZE is 0. */
template <int N, int SIZE, int STRIDE, typename key_type>
__device__ static __forceinline__ void best_steps(key_type (&key)[N])
{
    const int lane = (int)threadIdx.x % GPU_WARP;
#pragma unroll
    for (int n = 0; n < N; n++) {
        const int i = n * GPU_WARP + lane, other = n ^ STRIDE / GPU_WARP;
        const bool down = (i & SIZE) == 0;
        if (STRIDE < GPU_WARP) {
            const key_type from = __shfl_xor_sync(GPU_ALL, key[n], STRIDE);
            key[n] = (from > key[n]) == (((i & STRIDE) == 0) == down) ? from : key[n];
        } else if (other > n) {
            const key_type a = key[n], b = key[other];
            key[n] = (b > a) == down ? b : a;
            key[other] = (b > a) == down ? a : b;
        }
    }
    if constexpr (STRIDE > 1) best_steps<N, SIZE, STRIDE / 2>(key);
}

template <int N, int SIZE = 2, typename key_type> __device__ static __forceinline__ void best_sort(key_type (&key)[N])
{
    best_steps<N, SIZE, SIZE / 2>(key);
    if constexpr (SIZE < N * GPU_WARP) best_sort<N, SIZE * 2>(key);
}

/* Sort a bitonic sequence. */
template <int N, typename key_type> __device__ static __forceinline__ void best_merge(key_type (&key)[N])
{
    best_steps<N, 0, N * GPU_WARP / 2>(key);
}

/* The i-th key, returned to all lanes. */
template <int N, typename key_type> __device__ static inline key_type best_nth(const key_type (&key)[N], int i)
{
    key_type found = 0;
#pragma unroll
    for (int n = 0; n < N; n++) {
        const key_type from = __shfl_sync(GPU_ALL, key[n], i % GPU_WARP);
        if (i / GPU_WARP == n) found = from;
    }
    return found;
}

template <int N> struct best_kept {
    uint64_t key[N];  /* the best keys, largest first; 0: no key */
    uint64_t min_key; /* lower bound: only larger keys can be among the best */
    float floor;      /* the logit that `min_key` encodes */
    int n_pending;
    uint64_t *pending; /* [BEST_PENDING] */
};

template <int N> __device__ static inline void best_init(best_kept<N> &kept, uint64_t *pending)
{
#pragma unroll
    for (int n = 0; n < N; n++) kept.key[n] = 0;
    kept.min_key = 0;
    kept.floor = -INFINITY;
    kept.n_pending = 0;
    kept.pending = pending + threadIdx.x / GPU_WARP * BEST_PENDING;
}

/* Merge the last 32 pending keys, or all if there are fewer, into the warp's best. */
template <int N> __device__ static inline void best_merge_pending(best_kept<N> &kept, int want)
{
    const int lane = (int)threadIdx.x % GPU_WARP, first = kept.n_pending > GPU_WARP ? kept.n_pending - GPU_WARP : 0;
    __syncwarp();
    uint64_t fresh[1] = {first + lane < kept.n_pending ? kept.pending[first + lane] : 0};
    __syncwarp();
    kept.n_pending = first;
    best_sort<1>(fresh);
    const uint64_t rising = __shfl_sync(GPU_ALL, fresh[0], GPU_WARP - 1 - lane);
    if (rising > kept.key[N - 1]) kept.key[N - 1] = rising;
    best_merge<N>(kept.key);
    const uint64_t last = best_nth<N>(kept.key, want);
    if (last <= kept.min_key) return;
    kept.min_key = last;
    kept.floor = best_key_value(last);
}

/* Set the lower bound of a warp's keys before its first symbols are added, so that few are sorted. */
template <int N>
__device__ static inline void best_raise_floor(const best_call &c, const symbols_row &s, const uint64_t *legal,
                                               best_kept<N> &kept, const float (&x)[SYMBOLS_READ], float less,
                                               int32_t base)
{
    uint32_t top[N] = {};
#pragma unroll
    for (int i = 0; i < SYMBOLS_READ; i++) {
        const float y = x[i] - less;
        uint32_t next = y > -INFINITY && best_is_legal(c.a, s, legal, symbols_index(base, i)) ? best_order(y) : 0;
#pragma unroll
        for (int n = 0; n < N; n++) {
            const uint32_t above = top[n];
            top[n] = next > above ? next : above;
            next = next > above ? above : next;
        }
    }
    best_sort<N>(top);
    const uint32_t last = best_nth<N>(top, c.want);
    if (last == 0) return;
    kept.min_key = (uint64_t)last << 32;
    kept.floor = best_value(last);
}

/* Add a step's symbols, with values x - less, to the warp's pending keys. All lanes must call it. */
template <int N>
__device__ static inline void best_push(const best_call &c, const symbols_row &s, const uint64_t *legal,
                                        best_kept<N> &kept, const float (&x)[SYMBOLS_READ], float less, int32_t base)
{
    float top = x[0];
#pragma unroll
    for (int i = 1; i < SYMBOLS_READ; i++) top = fmaxf(top, x[i]);
    top -= less;
    if (!__any_sync(GPU_ALL, top > -INFINITY && top >= kept.floor)) return;
    const unsigned lower_lanes = (1u << threadIdx.x % GPU_WARP) - 1;
    bool put[SYMBOLS_READ]; /* computed before the first ballot, so that reads of the legal set overlap */
#pragma unroll
    for (int i = 0; i < SYMBOLS_READ; i++) {
        const int32_t v = symbols_index(base, i);
        const float y = x[i] - less;
        put[i] = y > -INFINITY && best_key(y, v) > kept.min_key && best_is_legal(c.a, s, legal, v);
    }
#pragma unroll
    for (int i = 0; i < SYMBOLS_READ; i++) {
        const unsigned lanes = __ballot_sync(GPU_ALL, put[i]);
        const uint64_t key = best_key(x[i] - less, symbols_index(base, i));
        if (put[i]) kept.pending[kept.n_pending + __popc(lanes & lower_lanes)] = key;
        kept.n_pending += __popc(lanes);
    }
    while (kept.n_pending >= GPU_WARP) best_merge_pending<N>(kept, c.want);
}

/* --- the best keys of a block ------------------------------------------------------------------------------------- */

/* Merge a sorted list of `length` keys into the warp's best. */
template <int N> __device__ static inline void best_merge_list(uint64_t (&key)[N], const uint64_t *list, int length)
{
#pragma unroll
    for (int n = 0; n < N; n++) {
        const int from = (N - n) * GPU_WARP - 1 - (int)threadIdx.x % GPU_WARP;
        const uint64_t other = from < length ? list[from] : 0;
        if (other > key[n]) key[n] = other;
    }
    best_merge<N>(key);
}

/* Shared memory of a block. */
typedef struct best_shared {
    symbols_total *total; /* [warps] */
    int *again;
    uint64_t *list, *pending; /* [warps, 32 N] best keys of each warp; [warps, BEST_PENDING] keys not merged yet */
} best_shared;

/* Return the bytes of shared memory that best_share<n>() needs. */
static inline size_t best_shared_bytes(int threads, int n)
{
    const size_t warps = (size_t)(threads / GPU_WARP), keys = (size_t)(n * GPU_WARP + BEST_PENDING);
    return warps * (keys * sizeof(uint64_t) + sizeof(symbols_total)) + sizeof(int);
}

template <int N> __device__ static inline best_shared best_share(void)
{
    const size_t warps = blockDim.x / GPU_WARP;
    char *shared = gpu_shared();
    best_shared m;
    m.list = (uint64_t *)(void *)shared;
    m.pending = m.list + warps * N * GPU_WARP;
    m.total = (symbols_total *)(void *)(m.pending + warps * BEST_PENDING);
    m.again = (int *)(void *)(m.total + warps);
    return m;
}

/* Add symbols [begin, end), with values x - less, to the warp's best, and their exponentials to *t, unless NULL. */
template <int N>
__device__ static __forceinline__ void best_add(const best_call &c, const symbols_row &s, const uint64_t *legal,
                                                best_kept<N> &kept, int32_t begin, int32_t end, float less,
                                                symbols_total *t)
{
    bool invalid = false;
    for (int32_t base = begin; base < end; base += SYMBOLS_READ * (int32_t)blockDim.x) {
        float x[SYMBOLS_READ];
        symbols_read(s, base, end, x);
        if (t != nullptr) {
            invalid |= symbols_are_invalid(x);
            if (c.a.normalise) symbols_add_exp(t, x);
        }
        if (c.want == 0) continue;
        if (base == begin && kept.min_key == 0) best_raise_floor<N>(c, s, legal, kept, x, less, base);
        best_push<N>(c, s, legal, kept, x, less, base);
    }
    if (invalid) t->sum = NAN;
}

/* Merge the best keys of all warps into the first warp's registers. */
template <int N>
__device__ static __forceinline__ void best_join(const best_call &c, const best_shared &m, best_kept<N> &kept)
{
    if (c.want == 0) return;
    if (kept.n_pending > 0) best_merge_pending<N>(kept, c.want);
    const int warp = (int)threadIdx.x / GPU_WARP, warps = (int)blockDim.x / GPU_WARP;
#pragma unroll
    for (int n = 0; n < N; n++) m.list[(warp * N + n) * GPU_WARP + (int)threadIdx.x % GPU_WARP] = kept.key[n];
    __syncthreads();
    for (int w = 1; w < warps && warp == 0; w++) best_merge_list<N>(kept.key, m.list + w * N * GPU_WARP, N * GPU_WARP);
}

/* --- writing the best choices ------------------------------------------------------------------------------------- */

/* Whether the top M by log-probability may differ from the top M by x. They can differ only if the log-probabilities M and M + 1 are equal,
 * and some neighbouring float rounds to the same value. Called by a whole warp. */
template <int N> __device__ static inline bool best_may_change(const best_call &c, const uint64_t (&key)[N], float norm)
{
    const uint64_t last = best_nth<N>(key, c.want - 1), next = best_nth<N>(key, c.want);
    if (next == 0 || !c.a.normalise) return false;
    const uint32_t order = (uint32_t)(last >> 32);
    const float logp = best_value(order) - norm;
    return logp > -INFINITY && best_key_value(next) - norm == logp &&
           (best_value(order - 1) - norm == logp || best_value(order + 1) - norm == logp);
}

/* Sort the warp's best keys by log-probability. */
template <int N> __device__ static inline void best_rank(uint64_t (&key)[N], float norm)
{
#pragma unroll
    for (int n = 0; n < N; n++) {
        const float logp = best_key_value(key[n]) - norm;
        key[n] = key[n] != 0 && logp > -INFINITY ? best_key(logp, best_key_symbol(key[n])) : 0;
    }
    best_sort<N>(key);
}

__device__ static inline void best_write_one(const gpu_best &a, const symbols_row &s, int32_t r, int32_t i, float logp,
                                             int32_t v)
{
    const size_t place = (size_t)r * (size_t)a.max_choices + (size_t)i;
    if (a.action != nullptr) a.action[place] = best_action(a, s, v);
    if (a.logp != nullptr) a.logp[place] = logp;
    if (a.tag != nullptr) a.tag[r] = best_action(a, s, v);
}

template <int N>
__device__ static inline void best_write(const best_call &c, const symbols_row &s, int32_t r, const uint64_t (&key)[N])
{
    int32_t count = 0;
#pragma unroll
    for (int n = 0; n < N; n++) {
        const int32_t i = n * GPU_WARP + (int32_t)threadIdx.x;
        const bool put = i < c.want && key[n] != 0;
        if (put) best_write_one(c.a, s, r, i, best_key_value(key[n]), best_key_symbol(key[n]));
        count += __popc(__ballot_sync(GPU_ALL, put));
    }
    if (threadIdx.x != 0) return;
    c.a.count[r] = count;
    if (c.a.tag != nullptr && count == 0) c.a.tag[r] = c.a.first_action;
}

/* Finish a row: compute log_norm from the sum of exponentials `total`, and write the choices. The first warp has the best keys. */
template <int N>
__device__ static inline void best_finish(const best_call &c, const symbols_row &s, int32_t r, const best_shared &m,
                                          best_kept<N> &kept, symbols_total total)
{
    const float norm = isnan(total.sum) ? NAN : c.a.normalise ? symbols_log_norm(total) : 0.0f;
    const bool first = threadIdx.x < GPU_WARP;
    if (threadIdx.x == 0 && c.a.log_norm != nullptr) c.a.log_norm[r] = norm;
    if (c.want == 0) {
        if (threadIdx.x == 0) c.a.count[r] = 0;
        return;
    }
    if (first) {
        const bool again = best_may_change<N>(c, kept.key, norm);
        if (threadIdx.x == 0) *m.again = again;
    }
    __syncthreads();
    if (*m.again) {
        best_init<N>(kept, m.pending);
        best_add<N>(c, s, best_legal(c.a, r), kept, 0, s.n, norm, nullptr);
        best_join<N>(c, m, kept);
    } else if (first) {
        best_rank<N>(kept.key, norm);
    }
    if (first) best_write<N>(c, s, r, kept.key);
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */

/* End of the part that begins at symbol `begin`. */
__device__ static inline int32_t best_part_end(const best_call &c, const symbols_row &s, int32_t begin)
{
    return s.n - begin < c.length ? s.n : begin + c.length;
}

/* One block per row reads its parts in turn. The total has the same bits as that of best_merge_parts(). */
template <int N> __global__ static void __launch_bounds__(SYMBOLS_THREADS, 4) best_rows(best_call c)
{
    const int32_t r = (int32_t)blockIdx.x, lane = (int32_t)threadIdx.x % GPU_WARP;
    if (gpu_leave(r >= *c.a.rows.count)) return;
    const symbols_row s = best_row(c.a, r);
    const uint64_t *legal = best_legal(c.a, r);
    const best_shared m = best_share<N>();
    best_kept<N> kept;
    best_init<N>(kept, m.pending);
    symbols_total totals = symbols_empty(); /* lane i holds the total of part i */
    for (int32_t part = 0; part < c.parts; part++) {
        const int32_t begin = part * c.length;
        symbols_total t = symbols_empty();
        best_add<N>(c, s, legal, kept, begin, best_part_end(c, s, begin), 0.0f, &t);
        if (part > 0) __syncthreads();
        t = symbols_merge_block(t, m.total);
        if (lane == part) totals = t;
    }
    best_join<N>(c, m, kept);
    best_finish<N>(c, s, r, m, kept, symbols_merge_warp(totals));
}

/* A block for each part of a row. */
template <int N> __global__ static void __launch_bounds__(SYMBOLS_THREADS, 4) best_parts(best_call c)
{
    const int32_t r = (int32_t)blockIdx.x, part = (int32_t)blockIdx.y, begin = part * c.length;
    if (gpu_leave(r >= *c.a.rows.count)) return;
    const symbols_row s = best_row(c.a, r);
    const best_shared m = best_share<N>();
    best_kept<N> kept;
    symbols_total t = symbols_empty();
    best_init<N>(kept, m.pending);
    best_add<N>(c, s, best_legal(c.a, r), kept, begin, best_part_end(c, s, begin), 0.0f, &t);
    best_join<N>(c, m, kept);
    const symbols_total total = symbols_merge_block(t, m.total);
    const size_t part_index = (size_t)r * (size_t)c.parts + (size_t)part;
    if (threadIdx.x == 0) c.total[part_index] = total;
    if (threadIdx.x >= GPU_WARP || c.want == 0) return;
#pragma unroll
    for (int n = 0; n < N; n++) {
        const int32_t i = n * GPU_WARP + (int32_t)threadIdx.x;
        if (i <= c.want) c.key[part_index * (size_t)(c.want + 1) + (size_t)i] = kept.key[n];
    }
}

/* Merge a row's parts. The block has more than a warp in case the row must be read again. */
template <int N> __global__ static void __launch_bounds__(SYMBOLS_THREADS, 4) best_merge_parts(best_call c)
{
    const int32_t r = (int32_t)blockIdx.x, lane = (int32_t)threadIdx.x % GPU_WARP;
    if (gpu_leave(r >= *c.a.rows.count)) return;
    const symbols_row s = best_row(c.a, r);
    const best_shared m = best_share<N>();
    const size_t first_part = (size_t)r * (size_t)c.parts, keys = (size_t)(c.want + 1);
    best_kept<N> kept;
    best_init<N>(kept, m.pending);
    for (int32_t part = 0; part < c.parts && c.want > 0 && threadIdx.x < GPU_WARP; part++)
        best_merge_list<N>(kept.key, c.key + (first_part + (size_t)part) * keys, c.want + 1);
    symbols_total t = symbols_empty();
    if (lane < c.parts) t = c.total[first_part + (size_t)lane];
    best_finish<N>(c, s, r, m, kept, symbols_merge_warp(t));
}

/* --- many choices per row ----------------------------------------------------------------------------------------- */

enum {
    MANY_DIGIT = 11, /* bits per radix pass: the first takes the sign, the exponent and two more */
    MANY_BINS = 1 << MANY_DIGIT,
    MANY_SHARED = 4096, /* up to this many keys are sorted in shared memory */
    MANY_THREADS = 512,
    MANY_FEW = 512, /* up to this many keys a bitonic sort has fewer steps than a radix sort */
};

typedef struct many_call {
    gpu_best a;
    int32_t bits;     /* bits of a symbol: keys have 32 + bits, which saves passes over constant bits */
    int32_t capacity; /* maximum number of keys of a row in `key`; 0: a row's keys are in shared memory */
    uint64_t *key;    /* [rows, capacity] keys in device memory, or NULL */
} many_call;

typedef struct many_shared {
    uint32_t bin[MANY_BINS];
    int32_t digit, above,
        within; /* the current pass: digit of the M-th key; number of keys with a larger digit, with this digit */
    int32_t n;
    uint64_t key[1]; /* [min(M, V)] selected keys, if shared memory suffices */
} many_shared;

/* Key of a symbol; 0: the symbol cannot be selected. If `norm` is NaN, no symbol can be selected. */
__device__ static inline uint64_t many_key(const many_call &c, const symbols_row &s, const uint64_t *legal, float norm,
                                           int32_t v)
{
    const float logp = symbols_logit(s, v) - norm;
    if (!(logp > -INFINITY) || !best_is_legal(c.a, s, legal, v)) return 0;
    return (uint64_t)best_order(logp) << c.bits | (((uint32_t)1 << c.bits) - 1 - (uint32_t)v);
}

/* The first warp finds the bin of the `need`-th largest key. Digit -1: there are fewer keys. */
__device__ static inline void many_find(many_shared *m, int32_t need)
{
    enum { EACH = MANY_BINS / GPU_WARP };
    const int32_t lane = (int32_t)threadIdx.x;
    int32_t own = 0, bin = MANY_BINS - 1 - lane * EACH;
    for (int i = 0; i < EACH; i++) own += (int32_t)m->bin[bin - i];
    const int32_t upto = gpu_warp_prefix_sum(own);
    if (lane == GPU_WARP - 1 && upto < need) m->digit = -1;
    int32_t above = upto - own;
    if (above >= need || upto < need) return;
    for (; above + (int32_t)m->bin[bin] < need; bin--) above += (int32_t)m->bin[bin];
    m->digit = bin;
    m->above = above;
    m->within = (int32_t)m->bin[bin];
}

/* Find the smallest selected key by radix selection, from the highest digit on. Keys are distinct, so the last bin has at most one. */
__device__ static inline uint64_t many_min_key(const many_call &c, const symbols_row &s, const uint64_t *legal,
                                               float norm, many_shared *m)
{
    int32_t need = c.a.max_choices;
    uint64_t prefix = 0;
    if (need >= s.n) return 1;
    for (int top = 32 + c.bits, low; top > 0; top = low) {
        low = top > MANY_DIGIT ? top - MANY_DIGIT : 0;
        for (int i = (int)threadIdx.x; i < MANY_BINS; i += (int)blockDim.x) m->bin[i] = 0;
        __syncthreads();
        for (int32_t v = (int32_t)threadIdx.x; v < s.n; v += (int32_t)blockDim.x) {
            const uint64_t key = many_key(c, s, legal, norm, v);
            if (key != 0 && key >> top == prefix) atomicAdd(&m->bin[(key >> low) & ((1u << (top - low)) - 1)], 1u);
        }
        __syncthreads();
        if (threadIdx.x < GPU_WARP) many_find(m, need);
        __syncthreads();
        if (m->digit < 0) return 1;
        prefix = prefix << (top - low) | (uint64_t)m->digit;
        need -= m->above;
        if (m->within == need) return low > 0 ? prefix << low : prefix;
    }
    return prefix;
}

/* Sort n keys descending by a bitonic network. Missing keys, from n on, count as the smallest. */
__device__ static inline void many_sort(uint64_t *key, int32_t n)
{
    for (int32_t size = 2; size / 2 < n; size *= 2)
        for (int32_t stride = size / 2; stride > 0; stride /= 2) {
            for (int32_t i = (int32_t)threadIdx.x; i / stride * 2 * stride < n; i += (int32_t)blockDim.x) {
                const int32_t one = i / stride * 2 * stride + i % stride;
                const int32_t other = stride == size / 2 ? one ^ (size - 1) : one + stride;
                if (other < n && key[one] < key[other]) {
                    const uint64_t from = key[one];
                    key[one] = key[other];
                    key[other] = from;
                }
            }
            __syncthreads();
        }
}

/* Select the choices of rows whose log_norm is known; one block per row. */
__global__ static void __launch_bounds__(MANY_THREADS, 1) best_many(many_call c)
{
    const int32_t r = (int32_t)blockIdx.x;
    if (gpu_leave(r >= *c.a.rows.count)) return;
    const symbols_row s = best_row(c.a, r);
    const uint64_t *legal = best_legal(c.a, r);
    const float norm = c.a.log_norm[r];
    many_shared *m = (many_shared *)(void *)gpu_shared();
    uint64_t *list = c.key != nullptr ? c.key + (size_t)r * (size_t)c.capacity : m->key;
    const uint64_t min_key = many_min_key(c, s, legal, norm, m);
    if (threadIdx.x == 0) m->n = 0;
    __syncthreads();
    for (int32_t v = (int32_t)threadIdx.x; v < s.n; v += (int32_t)blockDim.x) {
        const uint64_t key = many_key(c, s, legal, norm, v);
        if (key >= min_key) list[atomicAdd(&m->n, 1)] = key;
    }
    __syncthreads();
    const int32_t n = m->n;
    if (n > MANY_FEW && c.capacity == 0 && blockDim.x == MANY_THREADS)
        gpu_block_sort<MANY_THREADS, MANY_SHARED / MANY_THREADS>(list, n, 32 + c.bits, gpu_shared());
    else
        many_sort(list, n);
    for (int32_t i = (int32_t)threadIdx.x; i < n; i += (int32_t)blockDim.x) {
        const uint32_t mask = ((uint32_t)1 << c.bits) - 1;
        best_write_one(c.a, s, r, i, best_value((uint32_t)(list[i] >> c.bits)),
                       (int32_t)(mask - ((uint32_t)list[i] & mask)));
    }
    if (threadIdx.x == 0) c.a.count[r] = n;
}

/* --- scores of given actions -------------------------------------------------------------------------------------- */

typedef struct picks_call {
    gpu_picks a;
    gpu_best best;
} picks_call;

enum { PICKS_THREADS = 128 };

__global__ static void __launch_bounds__(PICKS_THREADS) picks(picks_call c)
{
    const int32_t i = (int32_t)blockIdx.x * PICKS_THREADS + (int32_t)threadIdx.x;
    if (i >= *c.a.picks.count) return;
    const int32_t r = c.a.row[i], v = c.a.symbol[i];
    float logp = -INFINITY;
    if (r >= 0 && v >= 0) {
        /* adding 0.0f turns -0 into 0, as in best_order() */
        const float x = symbols_logit(best_row(c.best, r), v) + 0.0f, norm = c.best.log_norm[r];
        if (x != -INFINITY || isnan(norm)) logp = x - norm;
    }
    c.a.logp[i] = logp;
}

/* --- launching the kernels ---------------------------------------------------------------------------------------- */

static int32_t row_parts(int32_t symbols)
{
    const int32_t parts = symbols > BEST_SPLIT ? (symbols + BEST_PART - 1) / BEST_PART : 1;
    return parts < BEST_PARTS ? parts : BEST_PARTS;
}

/* Keys of a row that best_many() sorts in device memory; 0: it sorts in shared memory. */
static int32_t many_capacity(int32_t symbols, int32_t n_choices)
{
    const int32_t capacity = n_choices < symbols ? n_choices : symbols;
    return n_choices >= BEST_MANY && capacity > MANY_SHARED ? capacity : 0;
}

size_t gpu_best_work_bytes(int32_t rows, int32_t symbols, int32_t n_choices)
{
    const int32_t parts = row_parts(symbols);
    const size_t keys = n_choices > 0 && n_choices < BEST_MANY ? (size_t)n_choices + 1 : 0;
    const size_t each = parts > 1 ? (size_t)parts * (keys * sizeof(uint64_t) + sizeof(symbols_total)) : 0;
    return (size_t)rows * (each + (size_t)many_capacity(symbols, n_choices) * sizeof(uint64_t));
}

template <int N> static void launch_best(gpu_stream *cu_stream, const best_call *c)
{
    const int32_t threads = symbols_threads(c->a.symbols, c->a.subsets.ids != nullptr);
    const unsigned rows = (unsigned)c->a.rows.max;
    const size_t shared = best_shared_bytes(threads, N);
    if (c->parts == 1 || rows >= BEST_FULL_ROWS) {
        GPU_LAUNCH(cu_stream, rows, threads, shared, best_rows<N>, *c);
        return;
    }
    GPU_LAUNCH(cu_stream, dim3(rows, (unsigned)c->parts), threads, shared, best_parts<N>, *c);
    GPU_LAUNCH(cu_stream, rows, threads, shared, best_merge_parts<N>, *c);
}

static void launch_many(gpu_stream *cu_stream, const gpu_best *args, uint64_t *key)
{
    many_call c = {*args, 1, many_capacity(args->symbols, args->max_choices), nullptr};
    while (args->symbols > (int32_t)1 << c.bits && c.bits < 31) c.bits++;
    const int32_t n_choices = args->max_choices < args->symbols ? args->max_choices : args->symbols;
    const int32_t threads = args->symbols <= 1024 ? 128 : (int32_t)MANY_THREADS;
    const size_t sort = n_choices > MANY_FEW ? gpu_block_sort_bytes<MANY_THREADS, MANY_SHARED / MANY_THREADS>() : 0,
                 keys = sizeof(many_shared) + (c.capacity == 0 ? (size_t)n_choices * sizeof(uint64_t) : 0),
                 shared = keys > sort ? keys : sort;
    if (c.capacity > 0) c.key = key;
    GPU_LAUNCH(cu_stream, (unsigned)args->rows.max, threads, shared, best_many, c);
}

void gpu_run_best(gpu_stream *cu_stream, const gpu_best *args)
{
    const bool many = args->max_choices >= BEST_MANY;
    best_call c = {
        *args,  many ? 0 : args->max_choices, args->subsets.ids != nullptr ? 1 : row_parts(args->symbols), 0, nullptr,
        nullptr};
    const size_t parts = c.parts > 1 ? (size_t)args->rows.max * (size_t)c.parts : 0;
    if (args->rows.max == 0) return;
    c.length = ((args->symbols + c.parts - 1) / c.parts + 3) & ~3;
    c.key = (uint64_t *)args->work;
    c.total = (symbols_total *)(void *)(c.key + (c.want > 0 ? parts * (size_t)(c.want + 1) : 0));
    if (c.want < GPU_WARP)
        launch_best<1>(cu_stream, &c);
    else if (c.want < 2 * GPU_WARP)
        launch_best<2>(cu_stream, &c);
    else
        launch_best<4>(cu_stream, &c);
    if (many) launch_many(cu_stream, args, (uint64_t *)(void *)(c.total + parts));
}

void gpu_run_picks(gpu_stream *cu_stream, const gpu_picks *args)
{
    const picks_call c = {*args, *args->best};
    const unsigned blocks = ((unsigned)args->picks.max + PICKS_THREADS - 1) / PICKS_THREADS;
    if (blocks > 0) GPU_LAUNCH(cu_stream, blocks, PICKS_THREADS, 0, picks, c);
}
