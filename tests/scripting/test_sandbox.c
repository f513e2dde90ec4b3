/* What scripts must not be able to do. Each file of tests/fuzz/corpora/script is an attempt; its first line states how
 * it must end:
 *   -- ok                 it runs to its end and checks itself
 *   -- memory             RILL_ERR_MEMORY
 *   -- fails: WORDS       RILL_ERR_PLUGIN with these words in the message
 * Each ends soon, leaves nothing registered if it failed, and all memory is freed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rill/plugin.h"
#include "rill/script.h"
#include "support/harness.h"

enum { MAX_FILE_BYTES = 16 << 10, MIN_FILES = 100, MAX_SECONDS = 6 };
enum { REGISTRY = 32 << 10 }; /* tolerance: lists of the registry may have grown, and do not shrink */

/* A stopped script must not reach the statement that prints this. */
static void note_line(void *user, const char *line)
{
    if (strcmp(line, "went on") == 0) (*(int *)user)++;
}

static int n_printed;
static const rill_script_options small = {.print = note_line,
                                          .print_user = &n_printed,
                                          .struct_size = sizeof(rill_script_options),
                                          .memory = 32 << 20,
                                          .instructions = 20000000,
                                          .seconds = 4};

/* Return the CPU time of this thread, which does not depend on the machine's load. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- the attempts ------------------------------------------------------------------------------------------------- */

typedef struct attempt {
    char path[1024], text[MAX_FILE_BYTES], words[128];
    size_t length;
    rill_status status;
} attempt;

static void read_attempt(attempt *a, const char *folder, const char *name)
{
    snprintf(a->path, sizeof a->path, "%s/%s", folder, name);
    FILE *file = fopen(a->path, "rb");
    assert_non_null(file);
    a->length = fread(a->text, 1, sizeof a->text - 1, file);
    a->text[a->length] = '\0';
    fclose(file);
    static const char fails[] = "-- fails: ";
    size_t line = strcspn(a->text, "\n");
    a->words[0] = '\0';
    a->status = RILL_OK;
    if (strncmp(a->text, "-- memory", line) == 0 && line > 0) a->status = RILL_ERR_MEMORY;
    if (strncmp(a->text, fails, sizeof fails - 1) != 0) return;
    a->status = RILL_ERR_PLUGIN;
    line -= sizeof fails - 1;
    assert_true(line < sizeof a->words);
    memcpy(a->words, a->text + sizeof fails - 1, line);
    a->words[line] = '\0';
}

static int ended_well(rill_context *ctx, const attempt *a, rill_status status, double seconds)
{
    const char *message = status < 0 ? rill_error(ctx) : "";
    int good = status == a->status && strstr(message, a->words) != NULL && seconds < MAX_SECONDS &&
               (status == RILL_OK || strstr(message, ".lua") != NULL) && rill_find_heuristic(ctx, "gone") == NULL &&
               rill_find_scorer(ctx, "gone") == NULL && n_printed == 0;
    if (!good) print_error("%s: %s after %.1f s: %.500s\n", a->path, rill_status_name(status), seconds, message);
    return good;
}

static int run_attempt(const attempt *a)
{
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    size_t old_bytes = rill_memory_used(ctx);
    rill_script *script;
    double start = now();
    n_printed = 0;
    rill_status status = rill_script_load_text(&script, ctx, a->path, a->text, a->length, &small);
    int good = ended_well(ctx, a, status, now() - start);
    if (status < 0 && rill_memory_used(ctx) > old_bytes + REGISTRY) {
        print_error("%s: %zu bytes are left of it\n", a->path, rill_memory_used(ctx) - old_bytes);
        good = 0;
    }
    if (status == RILL_OK) assert_true(rill_script_memory(script) > 0);
    harness_end(ctx, &memory);
    assert_true(memory.peak < small.memory * 3 / 2 + (1 << 20));
    return good;
}

static void hostile_scripts_are_stopped(void **state)
{
    (void)state;
    static attempt a;
    int files = 0, bad = 0;
    DIR *folder = opendir(CORPUS);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        read_attempt(&a, CORPUS, entry->d_name);
        bad += !run_attempt(&a);
        files++;
    }
    closedir(folder);
    assert_int_equal(bad, 0);
    assert_true(files >= MIN_FILES);
}

/* --- effects of the options --------------------------------------------------------------------------------------- */

static rill_status load(rill_context *ctx, const rill_script_options *options, const char *text)
{
    rill_script *script;
    return rill_script_load_text(&script, ctx, "test.lua", text, strlen(text), options);
}

static void unsafe_allows_files_only(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_script_options unsafe = small;
    unsafe.unsafe = 1;
    static const char text[] = "local f <close> = assert(io.tmpfile())\n"
                               "f:write('text') f:seek('set') assert(f:read('a') == 'text')\n"
                               "assert(os.time() > 1e9 and os.getenv('PATH') and os.clock() >= 0)\n"
                               "for _, name in ipairs{'debug', 'package', 'require', 'dofile', 'loadfile'} do\n"
                               "  assert(rawget(_G, name) == nil, name)\n"
                               "end\n"
                               "assert(os.setlocale == nil and string.dump == nil)\n"
                               "assert(not pcall(load, '', '', 'b') and getmetatable(f) == nil)\n"
                               "assert(not pcall(setmetatable, {}, {__gc = print}))\n";
    assert_int_equal(load(ctx, &unsafe, text), RILL_OK);
    assert_int_equal(load(ctx, &unsafe, "os.exit(0)"), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "cannot end the process"));
    assert_int_equal(load(ctx, &unsafe, "while true do pcall(os.time) end"), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "stopped after 20000000 instructions"));
    assert_int_equal(load(ctx, NULL, "io.open('x')"), RILL_ERR_PLUGIN);
    assert_non_null(
        strstr(rill_error(ctx), "test.lua:1: 'io' is not available to sandboxed scripts: --unsafe-scripts"));
    rill_context_destroy(ctx);
}

/* Collect lines, each followed by a bar. */
static void gather(void *user, const char *line)
{
    char *all = user;
    snprintf(all + strlen(all), 200 - strlen(all), "%s|", line);
}

static void gather_log(void *user, rill_log_level level, const char *line)
{
    if (level == RILL_LOG_INFO) gather(user, line);
}

static void printing_goes_to_the_callback_or_the_log(void **state)
{
    (void)state;
    char lines[200] = "", logged[200] = "";
    rill_context_options with_log = {.struct_size = sizeof with_log, .log = gather_log, .log_user = logged};
    rill_context *ctx = harness_context(&with_log);
    rill_script_options printing = small, silent = small;
    silent.print = NULL;
    printing.print = gather;
    printing.print_user = lines;
    static const char text[] =
        "print('a', 1, nil, 2.5)\nprint()\nprint('b\\nc')\nprint(setmetatable({}, {__tostring = function() return 'd' end}))\n"
        "rill.log('%d e')";
    assert_int_equal(load(ctx, &printing, text), RILL_OK);
    assert_string_equal(lines, "a\t1\tnil\t2.5||b|c|d|");
    assert_string_equal(logged, "%d e|");
    assert_int_equal(load(ctx, &silent, "print('f')"), RILL_OK);
    assert_string_equal(logged, "%d e|f|");
    rill_context_destroy(ctx);
}

static void limits_are_those_asked_for(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_script_options options = {.struct_size = sizeof options, .instructions = 100000};
    assert_int_equal(load(ctx, &options, "for i = 1, 20000 do end"), RILL_OK);
    assert_int_equal(load(ctx, &options, "for i = 1, 200000 do end"), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "stopped after 100000 instructions in one call"));
    /* Looking for the name nearest to a missing global counts as instructions. */
    assert_int_equal(load(ctx, &options, "for i = 1, 500 do local x = missing end"), RILL_OK);
    assert_int_equal(load(ctx, &options, "for i = 1, 2000 do local x = missing end"), RILL_ERR_PLUGIN);
    options.instructions = -1;
    assert_int_equal(load(ctx, &options, "for i = 1, 300000000 do end"), RILL_OK); /* exceeds the default limit */
    options.memory = 200000;
    assert_int_equal(load(ctx, &options, "local s = ('x'):rep(50000)"), RILL_OK);
    assert_int_equal(load(ctx, &options, "local s = ('x'):rep(300000)"), RILL_ERR_MEMORY);
    assert_non_null(strstr(rill_error(ctx), "exceed its limit of 200000 bytes (--script-memory"));
    options.memory = 1000;
    assert_int_equal(load(ctx, &options, ""), RILL_ERR_MEMORY);
    options.struct_size = 8;
    assert_int_equal(load(ctx, &options, ""), RILL_ERR_ABI);
    rill_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    if (harness_options(argc, argv) != 0) return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_scripts_are_stopped),
        cmocka_unit_test(unsafe_allows_files_only),
        cmocka_unit_test(printing_goes_to_the_callback_or_the_log),
        cmocka_unit_test(limits_are_those_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
