/* Services: opening a model, its thread, and settings of requests; see serve.h. queue.c handles jobs. */
#include "serve.h"

#include <math.h>

#include "record.h"

/* --- opening a service -------------------------------------------------------------------------------------------- */

/* Refuse options of the command line that apply to a run over a file, or that the server sets itself. */
static int check_command_line(const service *s)
{
    static const char *const foreign[] = {"unordered", "alignment", "unknown-names", "word-scores",
                                          "ids",       "pretty",    "sort"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (rill_option_source_get(s->session.command_line, foreign[i]))
            return cli_fail("--%s has no effect on a server: leave it out", foreign[i]);
    return CLI_OK;
}

/* Make the service's search config. By default, inputs join at the next timestep, and each timestep includes all inputs in flight. */
static rill_status make_search_config(service *s)
{
    cli_session *session = &s->session;
    const rill_option_source *defaults[] = {session->folder.search, NULL};
    TRY(rill_option_source_create(&s->default_schedule, session->ctx, RILL_FROM_USER));
    TRY(rill_option_source_set(s->default_schedule, "method", "stream-all"));
    TRY(rill_option_source_set(s->default_schedule, "refill-threshold", "1"));
    TRY(rill_option_source_set(session->command_line, "unordered", "1"));
    defaults[1] = s->default_schedule;
    return rill_search_config_make(&s->search_config, session->ctx, session->command_line, defaults, 2);
}

/* Add the scorers for constraints. Without constraints in a request they have no effect. */
static rill_status open_constraints(service *s)
{
    TRY(cli_constraints_add_scorers(s->search_config));
    TRY(rill_constraints_create(&s->constraints, s->session.ctx, s->search_config->setup));
    return rill_constraints_create(&s->request_constraints, s->request_ctx, s->search_config->setup);
}

static int prepare(service *s)
{
    cli_session *session = &s->session;
    session->is_large_input = 1;
    TRY(check_command_line(s));
    TRY(cli_session_prepare(session));
    TRY(cli_exit_code(session->ctx, make_search_config(s)));
    TRY(cli_session_open(session));
    if (rill_context_create_worker(&s->request_ctx, session->ctx, NULL) < 0) return cli_fail_context(session->ctx);
    rill_option_set_style(s->request_ctx, RILL_OPTION_PLAIN);
    TRY(cli_exit_code(session->ctx, open_constraints(s)));
    /* inputs that were left out for long go first: requests come without end, and each must be answered */
    s->search_config->setup->overdue_first = 1;
    TRY(cli_exit_code(session->ctx, cli_workers_begin(session, s->search_config, s->search_config->setup)));
    const int64_t flight = rill_workers_settings(session->worker_pool)->max_items;
    s->max_in_flight = (int64_t)session->workers * flight + session->workers;
    s->can_split = cli_can_split(session->ctx, session->model);
    if (rill_open_switch(&session->open, "language-columns")) s->languages = rill_model_info(session->model)->languages;
    s->in_flight = calloc((size_t)s->max_in_flight, sizeof(decoding *));
    s->cache = cache_create((size_t)s->options.cache_bytes);
    return s->in_flight && s->cache ? CLI_OK : cli_fail_memory("the inputs under way");
}

/* Return the name of a model: NAME in NAME=DIR, or else the last component of its directory. *model: receives the directory. */
static rill_slice model_name(const char **model)
{
    const char *text = *model, *equals = strchr(text, '='), *slash = strchr(text, '/');
    if (equals && equals > text && (!slash || equals < slash)) {
        *model = equals + 1;
        return (rill_slice){text, (size_t)(equals - text)};
    }
    size_t end = strlen(text);
    while (end > 1 && text[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '/') begin--;
    return (rill_slice){text + begin, end - begin};
}

/* Of the models of the command line, keep the one with this index, under its name. */
static int choose_model(service *s, int index, int *n_models)
{
    rill_open_options *open = &s->session.open;
    const char *path[MODELS_MAX];
    rill_slice name[MODELS_MAX];
    *n_models = open->path ? 1 + open->n_ensemble : 0;
    for (int m = 0; m < *n_models; m++) {
        path[m] = m > 0 ? s->session.ensemble[m - 1] : open->path;
        name[m] = model_name(&path[m]);
        for (int i = 0; i < m; i++)
            if (rill_slice_equal(name[i], name[m]))
                return cli_fail("two models have the name \"%.*s\": set another with -m NAME=DIR", (int)name[m].length,
                                name[m].data);
    }
    if (*n_models == 0) return CLI_OK;
    if (!path[index][0]) return cli_fail("-m: the path is empty");
    open->path = path[index];
    open->n_ensemble = 0;
    s->name = strndup(name[index].data, name[index].length);
    return s->name ? CLI_OK : cli_fail_memory("a model");
}

int service_open(service **out, const cli_command *command, int index, int argc, char **argv, int *n_models,
                 int *helped)
{
    service *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s || pthread_mutex_init(&s->lock, NULL) || pthread_cond_init(&s->changed, NULL)) {
        free(s);
        return cli_fail_memory("a model");
    }
    s->session.command = command;
    int code = cli_session_start(&s->session);
    if (code == CLI_OK) code = command->start(s);
    if (code == CLI_OK) code = cli_session_parse(&s->session, argc, argv, helped);
    if (code == CLI_OK && !*helped) code = choose_model(s, index, n_models);
    if (code == CLI_OK && !*helped && !s->options.prints_openapi) code = prepare(s);
    if (code == CLI_OK && !*helped)
        *out = s;
    else
        service_close(s);
    return code;
}

/* --- starting and closing ----------------------------------------------------------------------------------------- */

static void *run_service(void *user)
{
    service *s = user;
    queue_end(s, rill_workers_run_requests(s->session.worker_pool, queue_read, s, queue_write, s));
    return NULL;
}

int service_fail_thread(const char *what)
{
    return cli_fail("%s: cannot start a thread: raise the limit of threads (ulimit -u, or the container's)", what);
}

int service_start(service *s)
{
    if (s->is_started) return CLI_OK;
    s->counts.stats.struct_size = sizeof s->counts.stats;
    if (pthread_create(&s->thread, NULL, run_service, s)) return service_fail_thread(s->name);
    s->is_started = 1;
    return CLI_OK;
}

void service_end(service *s, int now)
{
    if (!s->is_started) return;
    pthread_mutex_lock(&s->lock);
    s->is_draining = 1;
    if (now && !s->has_ended) rill_workers_stop(s->session.worker_pool);
    s->is_stopped |= now;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&s->lock);
    while (s->is_tracing) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    s->is_started = 0;
}

void service_close(service *s)
{
    if (!s) return;
    rill_constraints_free(s->constraints);
    rill_constraints_free(s->request_constraints);
    rill_search_config_free(s->search_config);
    rill_option_source_free(s->default_schedule);
    if (s->request_ctx) rill_context_destroy(s->request_ctx);
    cli_session_end(&s->session);
    cache_destroy(s->cache);
    free(s->name);
    free(s->in_flight);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const char *service_failure(service *s)
{
    LOCK_SCOPE(&s->lock);
    return s->has_ended ? s->failure : "";
}

/* Check a request's beam sizes against --max-beam-size. The server's own options may exceed it. */
static rill_status check_width(service *s, const rill_option_source *source, const rill_search_config *search_config)
{
    static const struct {
        const char *name;
        int follows; /* 1: the setting's resolved value may follow from other settings */
    } widths[] = {{"num-samples", 0}, {"beam-groups", 0},  {"beam-size", 1}, {"n-best", 0},
                  {"stop-after", 1},  {"max-children", 0}, {"min-width", 0}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const rill_option *row = rill_option_find(rill_setting_table(), widths[i].name);
        const int32_t value = *(const int32_t *)((const char *)search_config->resolved + row->offset);
        const int32_t own = *(const int32_t *)((const char *)s->search_config->resolved + row->offset);
        const int is_requested = rill_option_source_get(source, row->name) != NULL;
        if (value <= s->options.max_beam_size || (!is_requested && (!widths[i].follows || value <= own))) continue;
        return rill_fail(s->request_ctx, RILL_ERR_OPTION, "%s%s %d: the maximum of a request is %d (--max-beam-size)",
                         row->name, is_requested ? ":" : " comes to", value, s->options.max_beam_size);
    }
    return RILL_OK;
}

/* Estimate the memory of a request's search in bytes: the memory of its longest input, times the number of inputs in parallel. */
static double search_bytes(const service *s, const rill_settings *resolved, const job *j)
{
    rill_cost cost = {.struct_size = sizeof cost};
    size_t longest = 0;
    for (int32_t i = 0; i < j->n; i++)
        if (j->input[i].length > longest) longest = j->input[i].length;
    rill_settings_cost(resolved, rill_model_info(s->session.model), (double)longest, &cost);
    const int32_t n_parallel = s->search_config->resolved->max_items;
    return cost.bytes * (j->n < n_parallel ? j->n : n_parallel);
}

/* List the numeric options of the request, for the message. */
static void list_numbers(const rill_option_source *source, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const rill_option *row = rill_setting_table(); row->name && used < size; row++)
        if ((row->type == RILL_OPTION_INT || row->type == RILL_OPTION_REAL) &&
            rill_option_source_get(source, row->name))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", row->name);
}

static rill_status check_cost(service *s, const rill_option_source *source, const rill_search_config *search_config,
                              const job *j)
{
    char numbers[300];
    const double cost = search_bytes(s, search_config->resolved, j), max_bytes = (double)s->options.request_bytes;
    if (cost <= max_bytes || cost <= search_bytes(s, s->search_config->resolved, j)) return RILL_OK;
    list_numbers(source, numbers, sizeof numbers);
    return rill_fail(s->request_ctx, RILL_ERR_OPTION,
                     "the search may need %.0f MB, and the maximum of a request is %.0f (--max-request): lower %s%s",
                     ceil(cost / 1048576), floor(max_bytes / 1048576), numbers,
                     j->n > 1 ? ", or send fewer inputs" : "");
}

rill_status service_read_settings(service *s, const json_t *object, job *j)
{
    rill_option_source *source = NULL;
    rill_search_config *search_config = NULL;
    SCOPED(rill_text_clear) rill_text options = {.ctx = s->request_ctx};
    rill_status status = cli_request_options(s->request_ctx, rill_model_domain(s->session.model), s->search_config, 1,
                                             object, &options, &source, &search_config);
    if (status >= 0) status = check_width(s, source, search_config);
    if (status >= 0) status = check_cost(s, source, search_config, j);
    if (status >= 0 && options.length > 0 && !(j->options = strdup(options.data)))
        status = rill_fail_memory(s->request_ctx, options.length, "a request's options");
    if (status >= 0) j->settings = search_config->setup->settings;
    rill_search_config_free(search_config);
    rill_option_source_free(source);
    return status < 0 ? status : RILL_OK;
}

const char *service_language(const service *s)
{
    const char *source_lang = cli_session_option(&s->session, "source-lang");
    return source_lang ? source_lang : s->name;
}

void service_get_counts(service *s, service_counts *out)
{
    LOCK_SCOPE(&s->lock);
    s->counts.cache_entries = (int64_t)cache_n_entries(s->cache);
    s->counts.cache_bytes = (int64_t)cache_n_bytes(s->cache);
    *out = s->counts;
}
