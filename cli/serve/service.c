/* Models that are served: opening them, their threads, and settings of requests; see service.h. What is done for jobs is queue.c's.
 *
 * Divisions: opening · life · requests. */
#include "service.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constraints.h"
#include "crew.h"
#include "fields.h"
#include "search.h"
#include "service_inside.h"
#include "split_lines.h"

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int take_option(void *user, const cli_option *option, const char *value)
{
    service *s = user;
    return cli_session_owns(option) ? cli_session_take(&s->session, option, value)
                                    : serve_take(s->options, option, value);
}

/* Options that belong to one run of a file, or are the server's affair. */
static int check_given(const service *s)
{
    static const char *const foreign[] = {"unordered", "alignment", "unknown-names", "word-scores",
                                          "ids",       "pretty",    "sort"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (rill_layer_get(s->session.given, foreign[i]))
            return cli_fail("--%s is for files of inputs: a server answers requests, leave it out", foreign[i]);
    const char *patience = rill_layer_get(s->session.given, "patience");
    if (patience && rill_read_number(patience, NULL) > 2)
        cli_say("--patience %s is the search's; seconds for a request to arrive are --request-timeout", patience);
    return CLI_OK;
}

/* Where nothing else is said, whatever comes joins the next timestep, and all that is in flight takes part in it. */
static int make_plan(service *s)
{
    cli_session *session = &s->session;
    const rill_layer *soft[] = {session->folder.search, NULL};
    if (rill_layer_create(&s->usual, session->ctx, RILL_FROM_USER) < 0 ||
        rill_layer_set(s->usual, "method", "stream-all") < 0 || rill_layer_set(s->usual, "refill", "1") < 0 ||
        rill_layer_set(session->given, "unordered", "1") < 0)
        return cli_fail_context(session->ctx);
    soft[1] = s->usual;
    return rill_search_config_make(&s->plan, session->ctx, session->given, soft, 2) < 0 ? cli_fail_context(session->ctx)
                                                                                        : CLI_OK;
}

/* Requests may bring constraints of their own: the scorers for them are there, and say nothing where nothing is asked. */
static int open_constraints(service *s)
{
    if (cli_constraints_join_run(s->plan) < 0 ||
        rill_constraints_create(&s->lines, s->session.ctx, &s->plan->setup) < 0 ||
        rill_constraints_create(&s->asked, s->asking, &s->plan->setup) < 0)
        return cli_fail_context(s->session.ctx);
    return CLI_OK;
}

static int prepare(service *s)
{
    cli_session *session = &s->session;
    session->many = 1;
    int code = check_given(s);
    if (code == CLI_OK) code = cli_session_configure(session);
    if (code == CLI_OK) cli_session_cap(session);
    if (code == CLI_OK && !cli_session_domain(session)) code = CLI_FAILED;
    if (code == CLI_OK) code = make_plan(s);
    if (code == CLI_OK) code = cli_session_open(session);
    if (code != CLI_OK) return code;
    if (rill_context_create_worker(&s->asking, session->ctx, NULL) < 0) return cli_fail_context(session->ctx);
    code = open_constraints(s);
    if (code != CLI_OK) return code;
    if (cli_crew_begin(session, s->plan, &s->plan->setup) < 0) return cli_fail_context(session->ctx);
    const int64_t flight = rill_workers_settings(session->crew)->max_items;
    s->most_under_way = (int64_t)session->workers * flight + session->workers;
    s->queue = s->options->most_waiting;
    s->splits = cli_is_split(session->ctx, session->model);
    s->most_width = s->options->most_width;
    s->most_megabytes = s->options->request_megabytes;
    s->given = calloc((size_t)s->most_under_way, sizeof(decoding *));
    s->cache = cache_create((size_t)s->options->cache_megabytes << 20);
    s->settings_key = queue_settings_key(&s->plan->resolved);
    return s->given && s->cache && s->settings_key ? CLI_OK : cli_fail_memory("the inputs under way");
}

int service_open(service **out, const char *name, serve_options *options, int argc, char **argv, int *helped)
{
    service *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s || pthread_mutex_init(&s->lock, NULL) || pthread_cond_init(&s->news, NULL)) {
        free(s);
        return cli_fail_memory("a model");
    }
    s->name = name;
    s->options = options;
    int code = cli_session_start(&s->session);
    if (code == CLI_OK) code = serve_parse(&s->session, take_option, s, argc, argv, helped);
    if (code == CLI_OK && !*helped) code = prepare(s);
    if (code == CLI_OK && !*helped)
        *out = s;
    else
        service_close(s);
    return code;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void *serve(void *user)
{
    service *s = user;
    queue_end(s, rill_workers_run_requests(s->session.crew, queue_read, s, queue_write, s));
    return NULL;
}

int service_start(service *s)
{
    s->counts.run.struct_size = sizeof s->counts.run;
    if (pthread_create(&s->thread, NULL, serve, s)) return cli_fail("%s: no thread can be started", s->name);
    s->started = 1;
    return CLI_OK;
}

void service_end(service *s, int now)
{
    if (!s->started) return;
    pthread_mutex_lock(&s->lock);
    s->draining = 1;
    if (now && !s->over) rill_workers_stop(s->session.crew);
    s->stopped |= now;
    pthread_cond_signal(&s->news);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&s->lock);
    while (s->tracing) pthread_cond_wait(&s->news, &s->lock);
    pthread_mutex_unlock(&s->lock);
    s->started = 0;
}

void service_close(service *s)
{
    if (!s) return;
    rill_constraints_free(s->lines);
    rill_constraints_free(s->asked);
    rill_search_config_free(s->plan);
    rill_layer_free(s->usual);
    if (s->asking) rill_context_destroy(s->asking);
    cli_session_end(&s->session);
    cache_destroy(s->cache);
    free(s->settings_key);
    free(s->given);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const char *service_name(const service *s)
{
    return s->name;
}

const char *service_failure(service *s)
{
    pthread_mutex_lock(&s->lock);
    const char *why = s->over ? s->failure : "";
    pthread_mutex_unlock(&s->lock);
    return why;
}

const rill_settings *service_settings(const service *s)
{
    return &s->plan->resolved;
}

/* One setting of a request into its layer, or an option of its inputs into their text. */
static rill_status read_one(service *s, rill_layer *layer, rill_text *options, const char *name, const char *value)
{
    const rill_option *row = rill_option_find(rill_setting_table(), name);
    rill_settings one;
    if (!row) {
        const rill_status found = rill_domain_input_option(rill_model_domain(s->session.model), name, value, options);
        if (found != RILL_ERR_NOT_FOUND) return found;
    }
    rill_settings_default(&one);
    if (row && (row->kind == RILL_OPTION_SCHEDULE || !rill_request_heeds(row)))
        return rill_fail(s->asking, RILL_ERR_OPTION, "%s is the server's, for all requests alike", row->name);
    rill_status status = rill_settings_set(s->asking, &one, name, value);
    return status < 0 ? status : rill_layer_set(layer, name, value);
}

/* How wide a search may be: as the request says it, and what that comes to. What the server itself is told is never too much. */
static rill_status check_width(service *s, const rill_layer *layer, const rill_search_config *plan)
{
    static const struct {
        const char *name;
        int follows; /* others' values change it */
    } widths[] = {{"sample", 0},     {"groups", 0},         {"k", 1},        {"n-best", 0},
                  {"stop-after", 1}, {"max-candidates", 0}, {"min-width", 0}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const rill_option *row = rill_option_find(rill_setting_table(), widths[i].name);
        const int32_t is = *(const int32_t *)((const char *)&plan->resolved + row->offset);
        const int32_t own = *(const int32_t *)((const char *)&s->plan->resolved + row->offset);
        const int said = rill_layer_get(layer, row->name) != NULL;
        if (is <= s->most_width || (!said && (!widths[i].follows || is <= own))) continue;
        return rill_fail(s->asking, RILL_ERR_OPTION, "%s%s %d: a request may have %d here (--max-width)", row->name,
                         said ? ":" : " comes to", is, s->most_width);
    }
    return RILL_OK;
}

/* What as many of the inputs may take as are searched at a time. */
static double cost_of(const service *s, const rill_settings *resolved, const job *j)
{
    rill_cost cost = {.struct_size = sizeof cost};
    size_t longest = 0;
    for (int32_t i = 0; i < j->n; i++)
        if (j->input[i].length > longest) longest = j->input[i].length;
    rill_settings_cost(resolved, rill_model_info(s->session.model), (double)longest, &cost);
    const int32_t at_once = s->plan->resolved.max_items;
    return cost.bytes * (j->n < at_once ? j->n : at_once);
}

/* The numbers that the request sets, for the message. */
static void list_numbers(const rill_layer *layer, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const rill_option *row = rill_setting_table(); row->name && used < size; row++)
        if ((row->type == RILL_OPTION_INT || row->type == RILL_OPTION_REAL) && rill_layer_get(layer, row->name))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", row->name);
}

static rill_status check_cost(service *s, const rill_layer *layer, const rill_search_config *plan, const job *j)
{
    char numbers[300];
    const double cost = cost_of(s, &plan->resolved, j), most = s->most_megabytes * 1048576.0;
    if (cost <= most || cost <= cost_of(s, &s->plan->resolved, j)) return RILL_OK;
    list_numbers(layer, numbers, sizeof numbers);
    return rill_fail(s->asking, RILL_ERR_OPTION,
                     "the search may take %.0f MB, and a request may have %d (--max-request): change %s%s",
                     ceil(cost / 1048576), s->most_megabytes, numbers, j->n > 1 ? ", or send fewer inputs" : "");
}

rill_status service_read(service *s, int (*said)(void *user, int i, const char **name, const char **value), void *user,
                         job *j, const char **why)
{
    const char *name, *value;
    rill_layer *layer;
    rill_search_config *plan = NULL;
    rill_text options = {.ctx = s->asking};
    rill_status status = rill_layer_create(&layer, s->asking, RILL_FROM_USER);
    for (int i = 0; status >= 0 && said(user, i, &name, &value); i++)
        status = read_one(s, layer, &options, name, value);
    if (status >= 0) status = rill_search_config_request(&plan, s->plan, s->asking, layer, 1);
    if (status >= 0) status = check_width(s, layer, plan);
    if (status >= 0) status = check_cost(s, layer, plan, j);
    if (status >= 0 && options.length > 0 && !(j->options = strdup(options.data)))
        status = rill_fail_memory(s->asking, options.length, "a request's options");
    if (status >= 0) j->settings = plan->setup.settings;
    j->own_settings = 1;
    rill_text_clear(&options);
    *why = rill_error(s->asking);
    rill_search_config_free(plan);
    rill_layer_free(layer);
    return status < 0 ? status : RILL_OK;
}

rill_status service_check_constraints(service *s, const char *line, const char **why)
{
    const char *const *scorers;
    const rill_status status = rill_constraints_read(s->asked, line, strlen(line), &scorers);
    *why = rill_error(s->asking);
    return status;
}

const char *service_language(const service *s)
{
    const char *said = cli_said(&s->session, "source-lang");
    return said ? said : s->name;
}

rill_context *service_context(const service *s)
{
    return s->session.ctx;
}

rill_model *service_model(const service *s)
{
    return s->session.model;
}

const char *service_device(const service *s)
{
    return rill_workers_device(s->session.crew, 0);
}

void service_count(service *s, service_counts *out)
{
    pthread_mutex_lock(&s->lock);
    s->counts.cache_entries = (int64_t)cache_entries(s->cache);
    s->counts.cache_bytes = (int64_t)cache_bytes(s->cache);
    *out = s->counts;
    pthread_mutex_unlock(&s->lock);
}
