/* Server metrics; see api.h. The format is Prometheus' "text-based format", version 0.0.4. */
#include "api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    pthread_mutex_lock(&request_counts.lock);
    request_counts.by_code[code < CODES ? code : 0]++;
    request_counts.below[b]++;
    request_counts.seconds += seconds;
    pthread_mutex_unlock(&request_counts.lock);
}

static void put(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP rill_%s %s\n# TYPE rill_%s %s\n", name, help, name, type);
}

static void put_requests(FILE *out)
{
    int64_t sum = 0;
    pthread_mutex_lock(&request_counts.lock);
    put(out, "requests_total", "counter", "Responses by HTTP status.");
    for (int c = 0; c < CODES; c++)
        if (request_counts.by_code[c] > 0)
            fprintf(out, "rill_requests_total{code=\"%d\"} %lld\n", c, (long long)request_counts.by_code[c]);
    put(out, "request_seconds", "histogram", "Seconds from the arrival of a request to its response.");
    for (size_t b = 0; b < BOUNDS; b++)
        fprintf(out, "rill_request_seconds_bucket{le=\"%g\"} %lld\n", bounds[b],
                (long long)(sum += request_counts.below[b]));
    sum += request_counts.below[BOUNDS];
    fprintf(out, "rill_request_seconds_bucket{le=\"+Inf\"} %lld\nrill_request_seconds_sum %.9g\n", (long long)sum,
            request_counts.seconds);
    fprintf(out, "rill_request_seconds_count %lld\n", (long long)sum);
    pthread_mutex_unlock(&request_counts.lock);
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

typedef struct series {
    const char *name, *type, *help;
    int64_t (*value)(const service_counts *c);
} series;

#define VALUE(name, expression)                          \
    static int64_t value_##name(const service_counts *c) \
    {                                                    \
        return c->expression;                            \
    }
VALUE(waiting, waiting)
VALUE(under_way, in_flight)
VALUE(inputs, inputs)
VALUE(from_cache, from_cache)
VALUE(shared, shared)
VALUE(cache_entries, cache_entries)
VALUE(cache_bytes, cache_bytes)
VALUE(failed, failed)
VALUE(cancelled, cancelled)
VALUE(actions, actions)
VALUE(timesteps, stats.timesteps)
VALUE(expansions, stats.expansions)

static const series all[] = {
    {"inputs_waiting", "gauge", "Inputs in the queue.", value_waiting},
    {"inputs_under_way", "gauge", "Inputs that engines are decoding.", value_under_way},
    {"inputs_total", "counter", "Inputs with a result.", value_inputs},
    {"inputs_from_cache_total", "counter", "Inputs answered from the cache.", value_from_cache},
    {"inputs_shared_total", "counter", "Inputs that shared a running search.", value_shared},
    {"cache_entries", "gauge", "Results in the cache.", value_cache_entries},
    {"cache_bytes", "gauge", "Bytes of the results in the cache.", value_cache_bytes},
    {"inputs_failed_total", "counter", "Inputs that failed.", value_failed},
    {"inputs_cancelled_total", "counter", "Inputs cancelled because their clients had disconnected.", value_cancelled},
    {"actions_total", "counter", "Actions of the searches' best outputs.", value_actions},
    {"timesteps_total", "counter", "Timesteps of the engines.", value_timesteps},
    {"expansions_total", "counter", "Expanded hypotheses.", value_expansions},
};

char *metrics_text(service *const *services, int n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    put_requests(out);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        put(out, all[i].name, all[i].type, all[i].help);
        for (int s = 0; s < n; s++) {
            service_counts counts;
            service_get_counts(services[s], &counts);
            fprintf(out, "rill_%s{model=\"", all[i].name);
            put_label(out, service_name(services[s]));
            fprintf(out, "\"} %lld\n", (long long)all[i].value(&counts));
        }
    }
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}
