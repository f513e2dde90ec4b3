/* Server metrics; see http_api.h. The format is Prometheus' "text-based format", version 0.0.4. */
#include "http_api.h"

static const double bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
enum { BOUNDS = sizeof bounds / sizeof *bounds, CODES = 600 };

static struct {
    pthread_mutex_t lock;
    int64_t by_code[CODES], below[BOUNDS + 1];
    double seconds;
} request_counts = {.lock = PTHREAD_MUTEX_INITIALIZER};

void metrics_request(unsigned code, double seconds)
{
    size_t b = 0;
    while (b < BOUNDS && seconds > bounds[b]) b++;
    LOCK_SCOPE(&request_counts.lock);
    request_counts.by_code[code < CODES ? code : 0]++;
    request_counts.below[b]++;
    request_counts.seconds += seconds;
}

static void put(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP rill_%s %s\n# TYPE rill_%s %s\n", name, help, name, type);
}

static void put_requests(FILE *out)
{
    int64_t sum = 0;
    LOCK_SCOPE(&request_counts.lock);
    put(out, "requests_total", "counter", "Responses by HTTP status.");
    for (int c = 0; c < CODES; c++)
        if (request_counts.by_code[c] > 0)
            fprintf(out, "rill_requests_total{code=\"%d\"} %lld\n", c, (long long)request_counts.by_code[c]);
    put(out, "request_seconds", "histogram", "Seconds from the arrival of a request to its response.");
    for (size_t b = 0; b < BOUNDS; b++)
        fprintf(out, "rill_request_seconds_bucket{le=\"%g\"} %lld\n", bounds[b],
                (long long)(sum += request_counts.below[b]));
    sum += request_counts.below[BOUNDS];
    fprintf(out,
            "rill_request_seconds_bucket{le=\"+Inf\"} %lld\nrill_request_seconds_sum %.9g\n"
            "rill_request_seconds_count %lld\n",
            (long long)sum, request_counts.seconds, (long long)sum);
}

/* Write a label value with quotes, backslashes and line ends escaped. */
static void put_label(FILE *out, const char *name)
{
    for (; *name; name++) {
        if (*name == '"' || *name == '\\') fputc('\\', out);
        if (*name == '\n')
            fputs("\\n", out);
        else
            fputc(*name, out);
    }
}

/* A metric whose value is a member of service_counts, an int64_t. */
/* clang-format off */
#define SERIES(name, type, help, member) {name, type, help, offsetof(service_counts, member)}
/* clang-format on */
static const struct {
    const char *name, *type, *help;
    size_t offset;
} all[] = {
    SERIES("inputs_waiting", "gauge", "Inputs in the queue.", waiting),
    SERIES("inputs_under_way", "gauge", "Inputs that engines are decoding.", in_flight),
    SERIES("inputs_total", "counter", "Inputs with a result.", inputs),
    SERIES("inputs_from_cache_total", "counter", "Inputs answered from the cache.", from_cache),
    SERIES("inputs_shared_total", "counter", "Inputs that shared a running search.", shared),
    SERIES("cache_entries", "gauge", "Results in the cache.", cache_entries),
    SERIES("cache_bytes", "gauge", "Bytes of the results in the cache.", cache_bytes),
    SERIES("inputs_failed_total", "counter", "Inputs that failed.", failed),
    SERIES("inputs_cancelled_total", "counter", "Inputs cancelled because their clients had disconnected.", cancelled),
    SERIES("actions_total", "counter", "Actions of the searches' best outputs.", actions),
    SERIES("timesteps_total", "counter", "Timesteps of the engines.", stats.timesteps),
    SERIES("expansions_total", "counter", "Expanded hypotheses.", stats.expansions),
};

char *metrics_text(const models *m)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    put_requests(out);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        put(out, all[i].name, all[i].type, all[i].help);
        for (int s = 0; s < m->n; s++) {
            service_counts counts;
            service_get_counts(m->service[s], &counts);
            fprintf(out, "rill_%s{model=\"", all[i].name);
            put_label(out, m->service[s]->name);
            fprintf(out, "\"} %lld\n",
                    (long long)*(const int64_t *)(const void *)((const char *)&counts + all[i].offset));
        }
    }
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}
