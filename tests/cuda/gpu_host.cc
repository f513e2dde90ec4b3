/* gpu_host.cc: gpu.h on the host, for tests. Device memory is memory of the process.
 *
 * Work waits in its queue until gpu_stream_sync(): results that are read earlier are still poisoned. Memory is poisoned
 * with 0xFF, a NaN or -1, and the address sanitizer knows its exact end. Copies and products check that their memory is
 * allocated. Launches check that no argument is an address on another device. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_host.h"
#include "product_host.h"
#include "stand_in.h"
#include "trials.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

/* A stretch of allocated memory, of a region or pinned. */
struct stretch {
    stretch *next;
    char *at;
    size_t bytes, reserved;
    bool pinned;
};

struct gpu_device {
    gpu_device *next;
    int index;
    pthread_mutex_t lock; /* guards the list `memory` */
    stretch *memory;
};

enum work_kind { WORK_DOWN, WORK_UP, WORK_PRODUCT, WORK_LAUNCH, WORK_GRAPH, WORK_MARK, WORK_FOLLOW };
struct work {
    work *next;
    work_kind kind;
    void *to;
    const void *from;
    size_t bytes;
    gpu_product product;
    gpu_matrix matrix; /* the matrix of the product */
    const gpu_graph_exec *graph;
    gpu_event *mark;
    gpu_stream *other; /* the stream that records the event */
    uint64_t number;  /* how often the event had been recorded, with this time included */
    cuda_host_launch launch;
    alignas(16) char args[]; /* arguments of a launch */
};

struct gpu_graph_exec {
    work *first;
    bool has_copy; /* the graph copies memory, which a GPU must not replay: the memory may have been freed meanwhile */
};

struct gpu_stream {
    gpu_device *device;
    work *first, **last;
    gpu_graph_exec *record; /* the CUDA graph that captures the work; NULL: work goes to the stream itself */
    work **before;     /* the end of the stream's own work, kept during a capture */
    gpu_stream *peer; /* the stream that this one waited for, or that waited for this one; NULL: none */
    uint64_t launches, put; /* launches executed; work submitted, with products */
    uint64_t steps;
    bool within; /* a work item has begun and is not done yet */
    bool failed;
    size_t memory; /* bytes of device memory that it has used */
    char why[GPU_ERROR_BYTES];
};

struct gpu_event {
    gpu_stream *queue; /* the stream that recorded the event last */
    uint64_t set, reached;
    bool failed; /* whether the stream had failed by then */
};

static const size_t MEMORY = (size_t)1 << 36, GRANULE = 1 << 16; /* bytes of a device */
static const int DEVICES = 2;
static size_t used; /* bytes of device memory in use on all devices; atomic */
static size_t reserved, max_reserved = SIZE_MAX; /* reserved addresses of all devices, and their limit; atomic */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static gpu_device *all; /* open devices; one index may be open several times */

/* --- faults ------------------------------------------------------------------------------------------------------- */

static uint64_t counted[CUDA_HOST_CALLS], fails_from[CUDA_HOST_CALLS], fails_until[CUDA_HOST_CALLS]; /* atomic */

static bool fails(cuda_host_call call)
{
    const uint64_t n = __atomic_add_fetch(&counted[call], 1, __ATOMIC_RELAXED);
    return n >= __atomic_load_n(&fails_from[call], __ATOMIC_RELAXED) &&
           n < __atomic_load_n(&fails_until[call], __ATOMIC_RELAXED);
}

void cuda_host_fail(cuda_host_call call, uint64_t n, uint64_t more)
{
    const uint64_t from = cuda_host_count(call) + n;
    __atomic_store_n(&fails_from[call], from, __ATOMIC_RELAXED);
    __atomic_store_n(&fails_until[call], n > 0 ? from + 1 + more : 0, __ATOMIC_RELAXED);
}

uint64_t cuda_host_count(cuda_host_call call)
{
    return __atomic_load_n(&counted[call], __ATOMIC_RELAXED);
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

/* Count devices as CUDA does: the numbers of CUDA_VISIBLE_DEVICES up to the first that does not exist. */
static int count_devices(void)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;
    if (text == nullptr) return DEVICES;
    for (char *end; *text != '\0'; text = *end == ',' ? end + 1 : end, count++) {
        const long number = strtol(text, &end, 10);
        if (end == text || number < 0 || number >= DEVICES) break;
    }
    return count;
}

int gpu_open(gpu_device **out, int index, char why[GPU_ERROR_BYTES])
{
    *out = nullptr;
    if (index < 0 || index >= count_devices()) {
        gpu_say_missing(index, count_devices(), why);
        return -1;
    }
    gpu_device *device = fails(CUDA_HOST_OPENING) ? nullptr : (gpu_device *)calloc(1, sizeof *device);
    if (device == nullptr) {
        snprintf(why, GPU_ERROR_BYTES, "out of memory");
        return -1;
    }
    device->index = index;
    pthread_mutex_init(&device->lock, nullptr);
    pthread_mutex_lock(&all_lock);
    device->next = all;
    all = device;
    pthread_mutex_unlock(&all_lock);
    *out = device;
    return 0;
}

void gpu_close(gpu_device *device)
{
    if (device == nullptr) return;
    pthread_mutex_lock(&all_lock);
    gpu_device **at = &all;
    while (*at != device) at = &(*at)->next;
    *at = device->next;
    pthread_mutex_unlock(&all_lock);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

const char *gpu_name(const gpu_device *device)
{
    (void)device;
    return "cuda-host (a stand-in for tests)";
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static size_t first_bound(void)
{
    const char *text = getenv("RILL_CUDA_HOST_MEMORY");
    return text != nullptr ? (size_t)strtoull(text, nullptr, 10) : SIZE_MAX;
}

static size_t *bound_here(void)
{
    static size_t bound = first_bound();
    return &bound;
}

void cuda_host_memory(size_t bytes)
{
    __atomic_store_n(bound_here(), bytes, __ATOMIC_RELAXED);
}

size_t cuda_host_used(void)
{
    return __atomic_load_n(&used, __ATOMIC_RELAXED);
}

void cuda_host_addresses(size_t bytes)
{
    __atomic_store_n(&max_reserved, bytes, __ATOMIC_RELAXED);
}

static void give(size_t *of, size_t bytes)
{
    __atomic_sub_fetch(of, bytes, __ATOMIC_RELAXED);
}

/* Add bytes to a counter; return false if that would exceed the limit. */
static bool take(size_t *of, const size_t *limit, size_t bytes)
{
    if (__atomic_add_fetch(of, bytes, __ATOMIC_RELAXED) <= __atomic_load_n(limit, __ATOMIC_RELAXED)) return true;
    give(of, bytes);
    return false;
}

size_t gpu_memory_bytes(const gpu_device *)
{
    return MEMORY;
}

size_t gpu_granule_bytes(const gpu_device *)
{
    return GRANULE;
}

size_t gpu_free_bytes(const gpu_device *)
{
    const size_t bound = __atomic_load_n(bound_here(), __ATOMIC_RELAXED), all = bound < MEMORY ? bound : MEMORY,
                 taken = cuda_host_used();
    return all > taken ? all - taken : 0;
}

static size_t whole_granules(size_t bytes)
{
    return (bytes + GRANULE - 1) / GRANULE * GRANULE;
}

static void list(gpu_device *device, stretch *s)
{
    pthread_mutex_lock(&device->lock);
    s->next = device->memory;
    device->memory = s;
    pthread_mutex_unlock(&device->lock);
}

static void unlist(gpu_device *device, stretch *s)
{
    pthread_mutex_lock(&device->lock);
    stretch **at = &device->memory;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    pthread_mutex_unlock(&device->lock);
}

/* Whether all of these bytes are allocated, as memory of the given kind. */
static bool lives(gpu_device *device, const void *at, size_t bytes, bool pinned)
{
    bool found = bytes == 0;
    pthread_mutex_lock(&device->lock);
    for (const stretch *s = device->memory; s != nullptr && !found; s = s->next) {
        const uintptr_t from = (uintptr_t)s->at, begin = (uintptr_t)at;
        found = s->pinned == pinned && begin >= from && begin - from <= s->bytes && bytes <= s->bytes - (begin - from);
    }
    pthread_mutex_unlock(&device->lock);
    return found;
}

/* Whether any of these words is an address in another device's memory. */
static bool names_another(const gpu_device *device, const char *words, size_t bytes)
{
    bool found = false;
    pthread_mutex_lock(&all_lock);
    for (gpu_device *d = all; d != nullptr && !found; d = d->next)
        for (size_t i = 0; d->index != device->index && i + sizeof(void *) <= bytes && !found; i += sizeof(void *)) {
            const void *at;
            memcpy(&at, words + i, sizeof at);
            found = lives(d, at, 1, false);
        }
    pthread_mutex_unlock(&all_lock);
    return found;
}

static size_t round_to_pages(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* Reserve addresses whose lower half is negative, so that no two numbers among a kernel's arguments look like an
 * address. */
static char *reserve_addresses(size_t bytes)
{
    const size_t slack = (size_t)2 << 32;
    void *mapped = mmap(nullptr, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    const uintptr_t from = (uintptr_t)mapped, at = (((from >> 32) + 1) << 32) + ((uintptr_t)1 << 31);
    munmap(mapped, at - from);
    munmap((char *)mapped + (at - from) + bytes, slack - (at - from));
    return (char *)mapped + (at - from);
}

/* Reserve addresses for a region that has none. */
static stretch *reserve(gpu_device *device, size_t bytes)
{
    stretch *s = take(&reserved, &max_reserved, bytes) ? (stretch *)calloc(1, sizeof *s) : nullptr;
    if (s == nullptr) return nullptr;
    s->at = reserve_addresses(bytes);
    s->reserved = bytes;
    if (s->at != nullptr) {
        list(device, s);
        return s;
    }
    give(&reserved, bytes);
    free(s);
    return nullptr;
}

static void give_back(gpu_device *device, stretch *s)
{
    unlist(device, s);
    munmap(s->at, s->reserved);
    give(&reserved, s->reserved);
    free(s);
}

int gpu_grow(gpu_device *device, gpu_region *region, size_t bytes)
{
    const size_t had = region->bytes;
    if (bytes <= had) return 0;
    const size_t more = bytes - had, counted = whole_granules(bytes) - whole_granules(had);
    const size_t wanted = whole_granules(region->reserved > 0 ? region->reserved : MEMORY);
    if (bytes > wanted || fails(CUDA_HOST_MEMORY) || !take(&used, bound_here(), counted)) return GPU_NO_MEMORY;
    stretch *s = region->impl != nullptr ? (stretch *)region->impl : reserve(device, wanted);
    if (s == nullptr || mprotect(s->at, round_to_pages(bytes), PROT_READ | PROT_WRITE) != 0) {
        if (s != nullptr && region->impl == nullptr) give_back(device, s);
        give(&used, counted);
        return s != nullptr ? GPU_NO_MEMORY : GPU_NO_ADDRESSES;
    }
    ASAN_UNPOISON_MEMORY_REGION(s->at + had, more);
    memset(s->at + had, 0xFF, more);
    ASAN_POISON_MEMORY_REGION(s->at + bytes, round_to_pages(bytes) - bytes);
    pthread_mutex_lock(&device->lock);
    s->bytes = bytes;
    pthread_mutex_unlock(&device->lock);
    *region = {s->at, bytes, wanted, s};
    return 0;
}

void gpu_free(gpu_device *device, gpu_region *region)
{
    stretch *s = (stretch *)region->impl;
    if (s != nullptr) {
        ASAN_UNPOISON_MEMORY_REGION(s->at, round_to_pages(s->bytes));
        give(&used, whole_granules(s->bytes));
        give_back(device, s);
    }
    *region = {};
}

void *gpu_pinned_alloc(gpu_device *device, size_t bytes)
{
    stretch *s = fails(CUDA_HOST_MEMORY) ? nullptr : (stretch *)calloc(1, sizeof *s);
    char *at = s != nullptr ? (char *)malloc(bytes != 0 ? bytes : 1) : nullptr;
    if (at == nullptr) {
        free(s);
        return nullptr;
    }
    memset(at, 0xFF, bytes);
    s->at = at;
    s->bytes = bytes;
    s->pinned = true;
    list(device, s);
    return at;
}

void gpu_pinned_free(gpu_device *device, void *memory)
{
    if (memory == nullptr) return;
    pthread_mutex_lock(&device->lock);
    stretch *s = device->memory;
    while (s != nullptr && s->at != memory) s = s->next;
    pthread_mutex_unlock(&device->lock);
    if (s != nullptr) {
        unlist(device, s);
        free(s);
    }
    free(memory); /* free() of an invalid pointer is reported by the sanitizer */
}

/* --- queues ------------------------------------------------------------------------------------------------------- */

int gpu_stream_open(gpu_stream **out, gpu_device *device, char why[GPU_ERROR_BYTES])
{
    gpu_stream *queue = *out = fails(CUDA_HOST_OPENING) ? nullptr : (gpu_stream *)calloc(1, sizeof *queue);
    if (queue == nullptr) {
        snprintf(why, GPU_ERROR_BYTES, "out of memory");
        return -1;
    }
    queue->device = device;
    queue->last = &queue->first;
    return 0;
}

int gpu_stream_reserve_fast(gpu_stream *queue)
{
    if (queue->memory > 0) return 0;
    if (fails(CUDA_HOST_MEMORY) || !take(&used, bound_here(), GPU_FAST_WORK)) return -1;
    queue->memory = GPU_FAST_WORK;
    return 0;
}

__attribute__((format(printf, 2, 3))) static void fail(gpu_stream *queue, const char *format, ...)
{
    if (queue->failed) return;
    queue->failed = true;
    va_list args;
    va_start(args, format);
    vsnprintf(queue->why, sizeof queue->why, format, args);
    va_end(args);
}

/* Append a work item to the stream; NULL: the stream has failed. */
static work *put(gpu_stream *queue, work_kind kind, size_t args)
{
    work *w = (work *)aligned_alloc(16, (sizeof *w + args + 15) / 16 * 16);
    if (w == nullptr) {
        fail(queue, "out of memory");
        return nullptr;
    }
    w->next = nullptr;
    w->kind = kind;
    queue->put += kind == WORK_LAUNCH || kind == WORK_PRODUCT;
    *queue->last = w;
    queue->last = &w->next;
    return w;
}

static void put_copy(gpu_stream *queue, work_kind kind, void *to, const void *from, size_t bytes)
{
    work *w = put(queue, kind, 0);
    if (w == nullptr) return;
    if (queue->record != nullptr) queue->record->has_copy = true;
    w->to = to;
    w->from = from;
    w->bytes = bytes;
}

void gpu_copy_to_device(gpu_stream *queue, void *to, const void *from, size_t bytes)
{
    put_copy(queue, WORK_DOWN, to, from, bytes);
}

void gpu_copy_to_host(gpu_stream *queue, void *to, const void *from, size_t bytes)
{
    put_copy(queue, WORK_UP, to, from, bytes);
}

void cuda_host_put(gpu_stream *queue, const cuda_host_launch *launch, const void *args, size_t bytes)
{
    if (names_another(queue->device, (const char *)args, bytes)) fail(queue, "%s is given memory of another GPU", launch->kernel);
    work *w = put(queue, WORK_LAUNCH, bytes);
    if (w == nullptr) return;
    w->launch = *launch;
    memcpy(w->args, args, bytes);
}

/* --- products ----------------------------------------------------------------------------------------------------- */

enum { MAX_ALGOS = 16, FAST_ROWS = 8 };
static cuda_host_algo algos[MAX_ALGOS];
static int n_algos;
static uint64_t tried;                       /* atomic */
static int32_t max_ascending = INT32_MAX;    /* atomic */
static int overruns;                         /* atomic */

uint64_t cuda_host_algos(const cuda_host_algo *list, int n)
{
    n_algos = list == nullptr ? 0 : n < MAX_ALGOS ? n : (int)MAX_ALGOS;
    if (n_algos > 0) memcpy(algos, list, (size_t)n_algos * sizeof *list);
    return __atomic_exchange_n(&tried, 0, __ATOMIC_RELAXED);
}

void cuda_host_turn_sums(int32_t most)
{
    __atomic_store_n(&max_ascending, most, __ATOMIC_RELAXED);
}

void cuda_host_overrun(int yes)
{
    __atomic_store_n(&overruns, yes, __ATOMIC_RELAXED);
}

/* The id of a chosen algorithm's matrix, in word 0 of the algorithm. Word 1 is the number of rows up to which sums
 * ascend. */
static uint64_t chosen_of(const gpu_matrix *m)
{
    return (uint64_t)m->n * (uint64_t)m->k * 8 + (uint64_t)m->type * 4 + (m->bias != nullptr ? 2 : 0) + (m->relu ? 1 : 0) + 1;
}

int gpu_propose(gpu_device *, const gpu_matrix *m, int32_t rows, gpu_candidate out[GPU_CANDIDATES])
{
    int found = 0;
    for (int i = 0; i < n_algos && found < GPU_CANDIDATES; i++) {
        const cuda_host_algo *a = &algos[i];
        if (rows < a->min_rows) continue;
        out[found++] = {{chosen_of(m), (uint64_t)a->max_ascending, (uint64_t)a->max_rows},
                        {a->id, a->split_k, a->has_tile, a->fp32_only}};
    }
    return found;
}

static void put_product(gpu_stream *queue, const gpu_product *args, const uint64_t algo[8])
{
    work *w = put(queue, WORK_PRODUCT, 0);
    if (w == nullptr) return;
    w->product = *args;
    w->matrix = *args->matrix;
    memcpy(w->matrix.algo[0], algo, sizeof w->matrix.algo[0]);
}

int gpu_multiply_by(gpu_stream *queue, const gpu_product *args, const uint64_t algo[8])
{
    if (args->rows > (int32_t)algo[2]) return -1;
    __atomic_add_fetch(&tried, 1, __ATOMIC_RELAXED);
    put_product(queue, args, algo);
    return 0;
}

void gpu_run_product(gpu_stream *queue, const gpu_product *args)
{
    static const uint64_t none[8] = {};
    const gpu_matrix *m = args->matrix;
    const int32_t range = gpu_row_range(args->rows);
    if (n_algos > 0 && !m->fast && gpu_is_plain(m, range)) {
        gpu_multiply_plainly(queue, args);
        return;
    }
    bool chosen = true; /* an algorithm was chosen for all ranges of rows, or for none */
    for (const auto &algo : m->algo) chosen = chosen && algo[0] == chosen_of(m);
    put_product(queue, args, chosen ? m->algo[range] : none);
}

int gpu_matrix_choose_algo(gpu_device *device, gpu_matrix *matrix, char why[GPU_ERROR_BYTES])
{
    if (n_algos > 0 && !matrix->fast) return gpu_choose_by_trial(device, matrix, why);
    if (!fails(CUDA_HOST_OPENING) && matrix->n >= 1 && matrix->k >= 1 && matrix->type <= GPU_F16) {
        for (auto &algo : matrix->algo) {
            algo[0] = chosen_of(matrix);
            algo[1] = matrix->fast ? (uint64_t)FAST_ROWS : INT32_MAX;
        }
        for (auto &id : matrix->algo_id) id = 1;
        return 0;
    }
    snprintf(why, GPU_ERROR_BYTES, "weights of %d x %d", (int)matrix->n, (int)matrix->k);
    return -1;
}

uint64_t gpu_launch_count(const gpu_stream *queue)
{
    return queue->put;
}

/* --- execution, in gpu_stream_sync() ------------------------------------------------------------------------------- */

static void copy(gpu_stream *queue, const work *w)
{
    static const char *const names[] = {"down", "up"};
    const bool to_lives = lives(queue->device, w->to, w->bytes, w->kind == WORK_UP);
    if (!to_lives || !lives(queue->device, w->from, w->bytes, w->kind == WORK_DOWN)) {
        fail(queue, "a copy %s of %zu bytes %s memory that is not there", names[w->kind], w->bytes,
             to_lives ? "from" : "to");
        return;
    }
    if (w->bytes > 0) memmove(w->to, w->from, w->bytes);
}

/* Whether rows of floats, or of the matrix's element type, are allocated. */
static bool rows_live(gpu_stream *queue, const void *at, size_t rows, size_t ld, size_t width, size_t each)
{
    return lives(queue->device, at, ((rows - 1) * ld + width) * each, false);
}

static bool on_16(const void *at, size_t ld, size_t each)
{
    return (uintptr_t)at % 16 == 0 && ld * each % 16 == 0;
}

static void product(gpu_stream *queue, const work *w)
{
    const gpu_matrix *m = &w->matrix;
    const gpu_product *p = &w->product;
    const size_t n = (size_t)m->n, k = (size_t)m->k, rows = p->rows > 0 ? (size_t)p->rows : 0;
    const size_t lda = (size_t)p->lda, ldc = (size_t)p->ldc, ld_add = (size_t)p->ld_add, each = gpu_type_bytes(m->type);
    const int32_t turned = __atomic_load_n(&max_ascending, __ATOMIC_RELAXED), own = (int32_t)m->algo[0][1];
    if (m->algo[0][0] != chosen_of(m)) {
        fail(queue, "a product of %d x %d weights without a way chosen", (int)m->n, (int)m->k);
        return;
    }
    if (rows == 0) return;
    if (!lives(queue->device, m->w, n * k * each, false) || !rows_live(queue, p->a, rows, lda, k, each) ||
        !rows_live(queue, p->c, rows, ldc, n, sizeof(float)) ||
        (p->add != nullptr && !rows_live(queue, p->add, rows, ld_add, n, sizeof(float))) ||
        (m->bias != nullptr && !lives(queue->device, m->bias, n * sizeof(float), false))) {
        fail(queue, "a product of %zu rows and %zu x %zu weights names memory that is not there", rows, n, k);
        return;
    }
    if ((uintptr_t)m->w % 16 != 0 || !on_16(p->a, lda, each) || !on_16(p->c, ldc, sizeof(float)) ||
        (p->add != nullptr && !on_16(p->add, ld_add, sizeof(float)))) {
        fail(queue, "a product of %zu x %zu weights names memory that is not aligned", n, k);
        return;
    }
    if (p->add == p->c && ld_add != ldc)
        fail(queue, "a product of %zu x %zu weights adds to what lies otherwise", n, k);
    else if (product_host(m, p, own < turned ? own : turned) != 0)
        fail(queue, "out of memory");
    float *past = p->c + rows * ldc;
    if (__atomic_load_n(&overruns, __ATOMIC_RELAXED) && lives(queue->device, past, sizeof *past, false)) *past = 0.0f;
}

static void run_until(gpu_stream *queue, const gpu_event *mark, uint64_t number);
static void let_peer(gpu_stream *queue);

static void follow(gpu_stream *queue, const work *w)
{
    if (w->mark->reached < w->number) run_until(w->other, w->mark, w->number);
    /* take no other state of the other stream: its work may run in another order */
    if (w->mark->failed) fail(queue, "work ahead: work has failed");
}

static void run_one(gpu_stream *queue, const work *w)
{
    char why[GPU_ERROR_BYTES] = "";
    if (w->kind == WORK_MARK) {
        w->mark->reached = w->number;
        w->mark->failed = queue->failed;
    }
    if (w->kind < WORK_GRAPH && !queue->failed && fails(CUDA_HOST_WORK)) fail(queue, "work has failed");
    if (queue->failed) return;
    switch (w->kind) {
    case WORK_MARK: break;
    case WORK_FOLLOW: follow(queue, w); break;
    case WORK_GRAPH:
        for (const work *part = w->graph->first; part != nullptr; part = part->next) {
            run_one(queue, part);
            let_peer(queue);
        }
        break;
    case WORK_PRODUCT: product(queue, w); break;
    case WORK_LAUNCH:
        if (cuda_host_run(&w->launch, w->args, ++queue->launches, why) != 0) fail(queue, "%s", why);
        break;
    default: copy(queue, w);
    }
}

static void run_first(gpu_stream *queue)
{
    work *w = queue->first;
    queue->first = w->next;
    if (queue->first == nullptr) queue->last = &queue->first;
    queue->within = true;
    run_one(queue, w);
    queue->within = false;
    free(w);
}

/* With a seed, now and then run the next work of the other stream. */
static void let_peer(gpu_stream *queue)
{
    gpu_stream *peer = queue->peer;
    const work *next = peer != nullptr && !peer->within ? peer->first : nullptr;
    if (next == nullptr || cuda_host_dice(++queue->steps) % 3 != 1) return;
    if (next->kind != WORK_FOLLOW || next->mark->reached >= next->number) run_first(peer);
}

/* Run the stream's work until the event is recorded for the number-th time, and no later work. mark NULL: run
 * everything. */
static void run_until(gpu_stream *queue, const gpu_event *mark, uint64_t number)
{
    while (queue->first != nullptr && (mark == nullptr || mark->reached < number)) {
        run_first(queue);
        let_peer(queue);
    }
}

static void free_list(work *first)
{
    for (work *w = first, *next; w != nullptr; w = next) {
        next = w->next;
        free(w);
    }
}

/* --- CUDA graphs -------------------------------------------------------------------------------------------------- */

int gpu_capture_begin(gpu_stream *queue, char why[GPU_ERROR_BYTES])
{
    queue->record = queue->failed || fails(CUDA_HOST_OPENING) ? nullptr : (gpu_graph_exec *)calloc(1, sizeof *queue->record);
    if (queue->record == nullptr) {
        snprintf(why, GPU_ERROR_BYTES, "%s", queue->failed ? queue->why : "out of memory");
        return -1;
    }
    queue->before = queue->last;
    queue->last = &queue->record->first;
    return 0;
}

gpu_graph_exec *gpu_capture_end(gpu_stream *queue, char why[GPU_ERROR_BYTES])
{
    gpu_graph_exec *graph = queue->record;
    queue->record = nullptr;
    queue->last = queue->before;
    if (fails(CUDA_HOST_OPENING)) fail(queue, "out of memory");
    if (!queue->failed) return graph;
    /* running out of memory concerns only the captured graph, which is freed */
    memcpy(why, queue->why, sizeof queue->why);
    queue->failed = false;
    gpu_graph_exec_free(graph);
    return nullptr;
}

void gpu_graph_launch(gpu_stream *queue, gpu_graph_exec *graph)
{
    if (graph->has_copy) fail(queue, "a record has a copy between host and device");
    work *w = put(queue, WORK_GRAPH, 0);
    if (w != nullptr) w->graph = graph;
}

void gpu_graph_exec_free(gpu_graph_exec *graph)
{
    if (graph == nullptr) return;
    free_list(graph->first);
    free(graph);
}

static int wait_until(gpu_stream *queue, const gpu_event *mark, uint64_t number, char why[GPU_ERROR_BYTES])
{
    run_until(queue, mark, number);
    if (!queue->failed) return 0;
    memcpy(why, queue->why, sizeof queue->why);
    return -1;
}

int gpu_stream_sync(gpu_stream *queue, char why[GPU_ERROR_BYTES])
{
    return wait_until(queue, nullptr, 0, why);
}

void gpu_stream_close(gpu_stream *queue)
{
    if (queue == nullptr) return;
    run_until(queue, nullptr, 0);
    if (queue->peer != nullptr) queue->peer->peer = nullptr;
    give(&used, queue->memory);
    free(queue);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

int gpu_event_open(gpu_event **out, gpu_device *device, char why[GPU_ERROR_BYTES])
{
    (void)device;
    *out = fails(CUDA_HOST_OPENING) ? nullptr : (gpu_event *)calloc(1, sizeof **out);
    if (*out != nullptr) return 0;
    snprintf(why, GPU_ERROR_BYTES, "out of memory");
    return -1;
}

void gpu_event_close(gpu_event *mark)
{
    free(mark);
}

void gpu_event_record(gpu_stream *queue, gpu_event *mark)
{
    work *w = put(queue, WORK_MARK, 0);
    mark->queue = queue;
    mark->set++;
    if (w == nullptr) {
        mark->reached = mark->set;
        return;
    }
    w->mark = mark;
    w->number = mark->set;
}

int gpu_event_sync(gpu_event *mark, char why[GPU_ERROR_BYTES])
{
    return mark->queue != nullptr ? wait_until(mark->queue, mark, mark->set, why) : 0;
}

void gpu_stream_wait_event(gpu_stream *queue, gpu_event *mark)
{
    work *w = mark->queue != nullptr ? put(queue, WORK_FOLLOW, 0) : nullptr;
    if (w == nullptr) return;
    w->mark = mark;
    w->other = queue->peer = mark->queue;
    w->other->peer = queue;
    w->number = mark->set;
}

int32_t gpu_group_rows(const gpu_device *device)
{
    (void)device;
    return 4; /* small, so that even small searches have two groups */
}
