/* The registry: domains, heuristics, scorers, schedulers and plugins by name.
 *
 * Invariant: a registered table has the right abi_version, a sufficient struct_size, and its mandatory members. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "rill/file.h"
#include "rill/search_config.h"

/* --- lists of registered tables ----------------------------------------------------------------------------------- */

/* The first members of every plugin table (rill_domain, rill_heuristic ...). */
typedef struct table_head {
    uint32_t abi_version, struct_size;
    const char *name;
} table_head;

static const void *list_find(const rill__table_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(((const table_head *)list->entry[i])->name, name) == 0) return list->entry[i];
    return NULL;
}

/* --- checks of registered tables ---------------------------------------------------------------------------------- */

/* A mandatory member of a plugin table. */
typedef struct table_member {
    const char *name;
    size_t offset;
} table_member;

/* clang-format off */
#define MEMBER(type, field) {#field, offsetof(type, field)}
static const table_member
    domain_members[] = {MEMBER(rill_domain, summary), MEMBER(rill_domain, open), MEMBER(rill_domain, reserve),
                        MEMBER(rill_domain, encode), MEMBER(rill_domain, step), MEMBER(rill_domain, score),
                        MEMBER(rill_domain, finalize), MEMBER(rill_domain, close), {NULL, 0}},
    heuristic_members[] = {MEMBER(rill_heuristic, arguments), MEMBER(rill_heuristic, summary),
                           MEMBER(rill_heuristic, apply), {NULL, 0}},
    scorer_members[] = {MEMBER(rill_scorer, arguments), MEMBER(rill_scorer, summary), MEMBER(rill_scorer, score), {NULL, 0}},
    scheduler_members[] = {MEMBER(rill_scheduler, summary), MEMBER(rill_scheduler, choose),
                           MEMBER(rill_scheduler, refill), {NULL, 0}};
/* clang-format on */

static const struct {
    const char *word;
    const table_member *members;
    /* smallest accepted struct_size: the table's size when this ABI version began. Later members are optional */
    size_t min_size;
} kinds[RILL__TABLE_KINDS] = {
    [RILL__DOMAIN] = {"domain", domain_members, sizeof(rill_domain)},
    [RILL__HEURISTIC] = {"heuristic", heuristic_members, sizeof(rill_heuristic)},
    [RILL__SCORER] = {"scorer", scorer_members, sizeof(rill_scorer)},
    [RILL__SCHEDULER] = {"scheduler", scheduler_members, sizeof(rill_scheduler)},
};

static rill_status check_abi(rill_context *ctx, const char *what, uint32_t abi, uint32_t size, size_t known)
{
    if (abi != RILL_ABI_VERSION)
        return rill_fail(ctx, RILL_ERR_ABI, "%s was built for ABI version %u, this rill has %u: rebuild it with %s",
                         what, (unsigned)abi, (unsigned)RILL_ABI_VERSION,
                         abi > RILL_ABI_VERSION ? "this rill's headers, or take its own rill"
                                                : "this rill's headers, after renaming in its sources what "
                                                  "docs/renamed.md lists (templates: examples/)");
    /* A larger table comes from a newer header: its additional members are not read. */
    if (size < known)
        return rill_fail(ctx, RILL_ERR_ABI, "%s has a table of %u bytes, this rill needs %zu bytes: rebuild it", what,
                         (unsigned)size, known);
    return RILL_OK;
}

static rill_status check_table(rill_context *ctx, rill__table_kind kind, const void *table)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_"; /* ':' and ',' separate names in options */
    const char *const word = kinds[kind].word;
    char what[128];
    if (table == NULL) return rill_fail(ctx, RILL_ERR_ARGUMENT, "a %s table is NULL", word);
    const table_head *head = table;
    const char *name = head->abi_version == RILL_ABI_VERSION && head->name != NULL ? head->name : "?";
    snprintf(what, sizeof what, "%s \"%s\"", word, name);
    RILL__TRY(check_abi(ctx, what, head->abi_version, head->struct_size, kinds[kind].min_size));
    if (head->name == NULL || head->name[0] == '\0')
        return rill_fail(ctx, RILL_ERR_PLUGIN, "a %s table has no name", word);
    if (head->name[strspn(head->name, allowed)] != '\0')
        return rill_fail(ctx, RILL_ERR_PLUGIN, "%s: the name may only have a-z, 0-9, - and _", what);
    for (const table_member *m = kinds[kind].members; m->name != NULL; m++) {
        void *value;
        memcpy(&value, (const char *)table + m->offset, sizeof value);
        if (value == NULL) return rill_fail(ctx, RILL_ERR_PLUGIN, "%s: the mandatory member %s is NULL", what, m->name);
    }
    if (list_find(&ctx->tables[kind], head->name) != NULL)
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "%s is registered already: rename one of the two", what);
    return RILL_OK;
}

/* --- options of domains ------------------------------------------------------------------------------------------- */

enum { OWN_TABLES = 3 };

/* Get option table i: the library's own tables come first, then one per domain, which may be NULL. Returns 0 past the last table. */
static int get_options(const rill_context *ctx, size_t i, const rill_option **out)
{
    const rill_option *const own[OWN_TABLES] = {rill_setting_table(), rill_chain_table(), rill_output_table()};
    const rill_domain *domain = i < OWN_TABLES ? NULL : rill_domain_at(ctx, i - OWN_TABLES);
    *out = i < OWN_TABLES ? own[i] : domain != NULL ? domain->options : NULL;
    return i < OWN_TABLES || domain != NULL;
}

const rill_option *rill_option_row(const rill_context *ctx, const char *name)
{
    const rill_option *table, *row = NULL;
    for (size_t i = 0; row == NULL && get_options(ctx, i, &table); i++) row = rill_option_find(table, name);
    return row;
}

rill_status rill__find_option(rill_context *ctx, const char *name, int also_others, const rill_option **out)
{
    const rill_option *table;
    rill_option_near near = {0};
    *out = also_others ? rill_option_row(ctx, name) : rill__setting(name);
    if (*out != NULL) return RILL_OK;
    const char *why = rill_refused_option("setting", name);
    if (why == NULL && also_others) why = rill_refused_option("opening", name);
    for (size_t i = 0; (i == 0 || also_others) && get_options(ctx, i, &table); i++)
        for (; table != NULL && table->name != NULL; table++) rill_option_nearer(table, name, &near);
    return rill__fail_unknown_name(ctx, RILL_ERR_OPTION, "setting", name, why, &near, "");
}

/* Returns why a domain's option may not have this name; NULL: it may. Domains may share an option of the same name and type. */
static const char *check_option_name(const rill_context *ctx, const rill_domain *domain, const rill_option *o,
                                     const char *name)
{
    enum { MIN_OPTION_NAME = 2, MAX_OPTION_NAME = 40 };
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const size_t length = strlen(name);
    const rill_option *table;
    if (length < MIN_OPTION_NAME || length > MAX_OPTION_NAME || strspn(name, allowed) != length || name[0] == '-' ||
        name[length - 1] == '-')
        return "the name must have 2 to 40 of a-z, 0-9 and -, without - at its ends";
    if (rill_option_find(domain->options, name) != o) return "the name is taken: use another";
    for (size_t i = 0; get_options(ctx, i, &table); i++) {
        const rill_option *other = rill_option_find(table, name);
        if (other != NULL && i < OWN_TABLES) return "the name is taken: use another";
        if (other != NULL && (other->type != o->type || strcmp(other->name, o->name) != 0))
            return "another domain has an option of that name with another type: use another name";
    }
    return NULL;
}

static rill_status check_option(rill_context *ctx, const rill_domain *domain, const rill_option *o)
{
    const char *why = NULL, *name = o->name, *next;
    char alias[RILL_OPTION_MAX];
    if (o->argument == NULL || o->initial == NULL || o->help == NULL)
        why = "argument, initial and help must not be NULL";
    else if (o->type < RILL_OPTION_INT || o->type > RILL_OPTION_PATH || o->kind != RILL_OPTION_MODEL)
        why = "its type or kind has an invalid value";
    for (int i = 0; why == NULL && (next = rill_option_name(o, i, alias)) != NULL; i++) {
        name = next;
        why = check_option_name(ctx, domain, o, name);
    }
    if (why == NULL) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_PLUGIN, "domain \"%s\": option \"%.60s\": %s", domain->name, name, why);
}

/* --- registration and lookup -------------------------------------------------------------------------------------- */

static rill_status register_table(rill_context *ctx, rill__table_kind kind, const void *table)
{
    rill__table_list *list = &ctx->tables[kind];
    RILL__TRY(check_table(ctx, kind, table));
    const rill_option *o = kind == RILL__DOMAIN ? ((const rill_domain *)table)->options : NULL;
    for (; o != NULL && o->name != NULL; o++) RILL__TRY(check_option(ctx, table, o));
    RILL__TRY(RILL__GROW(ctx, list->entry, list->capacity, list->n + 1, "the registry"));
    list->entry[list->n++] = table;
    return RILL_OK;
}

static const void *table_at(const rill__table_list *list, size_t i)
{
    return i < list->n ? list->entry[i] : NULL;
}

/* Define rill_register_domain(), rill_find_domain() and rill_domain_at(), and the same functions for heuristics, scorers and schedulers. */
#define DEFINE_LOOKUP(type, kind)                                                  \
    rill_status rill_register_##type(rill_context *ctx, const rill_##type *table)  \
    {                                                                              \
        return register_table(ctx, kind, table);                                   \
    }                                                                              \
    const rill_##type *rill_find_##type(const rill_context *ctx, const char *name) \
    {                                                                              \
        return list_find(&ctx->tables[kind], name);                                \
    }                                                                              \
    const rill_##type *rill_##type##_at(const rill_context *ctx, size_t i)         \
    {                                                                              \
        return table_at(&ctx->tables[kind], i);                                    \
    }
DEFINE_LOOKUP(domain, RILL__DOMAIN)
DEFINE_LOOKUP(heuristic, RILL__HEURISTIC)
DEFINE_LOOKUP(scorer, RILL__SCORER)
DEFINE_LOOKUP(scheduler, RILL__SCHEDULER)

rill_status rill__check_registered(rill_context *ctx, rill__table_kind kind, const char *name)
{
    const char *const word = kinds[kind].word;
    const table_head *table;
    rill_option_near near = {0};
    if (list_find(&ctx->tables[kind], name) != NULL) return RILL_OK;
    for (size_t i = 0; (table = table_at(&ctx->tables[kind], i)) != NULL; i++)
        rill_option_nearer(&(rill_option){.name = table->name}, name, &near);
    return rill__fail_unknown_name(ctx, RILL_ERR_NOT_FOUND, word, name, rill_refused_option(word, name), &near,
                                   "`rill list` shows all, and plugins add more");
}

rill_registry_mark rill_registry_size(const rill_context *ctx)
{
    const rill__table_list *t = ctx->tables;
    return (rill_registry_mark){t[RILL__DOMAIN].n, t[RILL__HEURISTIC].n, t[RILL__SCORER].n, t[RILL__SCHEDULER].n};
}

void rill_registry_restore(rill_context *ctx, rill_registry_mark mark)
{
    for (int i = 0; i < RILL__TABLE_KINDS; i++)
        if (ctx->tables[i].n > rill__marked_size(&mark, i)) ctx->tables[i].n = rill__marked_size(&mark, i);
}

/* --- plugins ------------------------------------------------------------------------------------------------------ */

static rill_status register_plugin(rill_context *ctx, const rill_plugin_table *plugin, const char *path)
{
    if (plugin == NULL) return rill_fail(ctx, RILL_ERR_PLUGIN, "plugin %s: rill_plugin() returned no table", path);
    char what[512];
    snprintf(what, sizeof what, "plugin %s", path);
    RILL__TRY(check_abi(ctx, what, plugin->abi_version, plugin->struct_size, sizeof *plugin));
    const void *const *const lists[RILL__TABLE_KINDS] = {
        [RILL__DOMAIN] = (const void *const *)plugin->domains,
        [RILL__HEURISTIC] = (const void *const *)plugin->heuristics,
        [RILL__SCORER] = (const void *const *)plugin->scorers,
        [RILL__SCHEDULER] = (const void *const *)plugin->schedulers,
    };
    for (int kind = 0; kind < RILL__TABLE_KINDS; kind++)
        for (const void *const *table = lists[kind]; table != NULL && *table != NULL; table++)
            RILL__TRY(register_table(ctx, (rill__table_kind)kind, *table));
    return RILL_OK;
}

/* ISO C has no cast from dlsym()'s object pointer to a function pointer, so bytes are copied. */
static rill_plugin_fn find_entry(void *library)
{
    void *symbol = dlsym(library, "rill_plugin");
    rill_plugin_fn entry = NULL;
    if (symbol != NULL) memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

/* Returns 1 if the path exists and is no folder, else 0. Loading it checks the rest. */
static int is_plugin_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

/* Append the path of the folder of installed plugins: the folder `rill` beside the binary that contains this code. */
static rill_status append_folder(rill_text *out)
{
    static const char anchor = 0;
    Dl_info info;
    const char *file = dladdr(&anchor, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "";
    const char *slash = strrchr(file, '/');
    return rill_text_printf(out, "%.*srill", slash != NULL ? (int)(slash + 1 - file) : 0, file);
}

rill_status rill_plugin_find(const char *name, rill_text *out)
{
    static const struct {
        const char *prefix, *suffix;
    } forms[] = {{"", ""}, {"", ".so"}, {"rill-", ".so"}, {"", ".lua"}};
    struct stat info;
    const size_t begin = out->length;
    const int is_path = strchr(name, '/') != NULL || is_plugin_file(name);
    rill_status status = is_path ? RILL_OK : append_folder(out);
    const size_t folder = out->length;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !is_path && status >= 0; i++) {
        out->length = folder;
        status = rill_text_printf(out, "/%s%s%s", forms[i].prefix, name, forms[i].suffix);
        if (status >= 0 && is_plugin_file(out->data + begin)) return RILL_OK;
    }
    /* a folder of this name counts as found: opening it gives the right error */
    if (!is_path && status >= 0 && stat(name, &info) != 0)
        status = rill_fail(out->ctx, RILL_ERR_NOT_FOUND,
                           "plugin %s: found neither a file of that path nor a plugin of that name in %.*s", name,
                           (int)(folder - begin), out->data + begin);
    out->length = begin; /* remove the incomplete path */
    if (out->data != NULL) out->data[begin] = '\0';
    return status < 0 ? status : rill_text_append(out, name, strlen(name));
}

static rill_status load_library(rill_context *ctx, const char *path, const char *local)
{
    RILL__TRY(RILL__GROW(ctx, ctx->libraries, ctx->libraries_capacity, ctx->n_libraries + 1, "the list of plugins"));
    rill_file file; /* opened only to refuse a pipe, on which dlopen() would block, and other special files */
    rill_status found = rill_file_open(&file, ctx, local, RILL_FILE_REGULAR);
    if (found < 0) return rill_fail(ctx, found, "plugin %s: %s", path, rill_error(ctx));
    rill_file_close(&file);
    void *library = dlopen(local, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return rill_fail(ctx, RILL_ERR_NOT_FOUND, "plugin %s: %s", path, dlerror());
    rill_plugin_fn entry = find_entry(library);
    rill_registry_mark old_size = rill_registry_size(ctx);
    rill_status status = entry != NULL
                             ? register_plugin(ctx, entry(), path)
                             : rill_fail(ctx, RILL_ERR_NOT_FOUND, "plugin %s exports no function rill_plugin()", path);
    if (status < 0) {
        rill_registry_restore(ctx, old_size);
        dlclose(library);
        return status;
    }
    ctx->libraries[ctx->n_libraries++] = library;
    return RILL_OK;
}

rill_status rill_plugin_load(rill_context *ctx, const char *path)
{
    static const char prefix[] = "./"; /* a path without a slash would make dlopen() search the system's folders */
    RILL__SCOPED_TEXT(local, ctx);
    RILL__TRY(rill_text_append(&local, prefix, sizeof prefix - 1));
    RILL__TRY(rill_plugin_find(path, &local));
    const char *found = local.data + sizeof prefix - 1;
    return load_library(ctx, path, strchr(found, '/') != NULL ? found : local.data);
}
