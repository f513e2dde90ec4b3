/* Fuzz target: configurations. The bytes are the text of a script; its table is read, with points of its sweep.
 *
 * For any bytes: no crash and no leak. A failure has a message. A line number that is reported for a key exists in the
 * text. The script gets small limits, since fuzz_script tests running scripts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/run_config.h"
#include "fuzz_target.h"
#include "rill/plugin.h"

static void check_lines(rill_script *script, const char *text, size_t size)
{
    static const char *const paths[] = {"", "model", "search.k", "search.max_items", "heuristics[2]", "a.b.c"};
    int lines = 1;
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int line = script_config_line(script, text, size, paths[i]);
        require(line >= 0 && line <= lines);
    }
}

static void read_all(rill_context *ctx, rill_script *script)
{
    rill_script_config *config, *point;
    if (rill_script_config_read(script, &config) < 0) {
        require(config == NULL && rill_error(ctx)[0] != '\0');
        return;
    }
    for (int64_t i = 0; i < config->sweep_points && i < 4; i++) {
        rill_status status = rill_script_sweep_point(script, i, &point);
        require(status == RILL_OK ? point != NULL && point->n_point == config->n_sweep : rill_error(ctx)[0] != '\0');
        rill_script_config_free(point);
    }
    rill_script_config_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const rill_script_options options = {.struct_size = sizeof options, .memory = 4 << 20, .instructions = 20000};
    rill_context *ctx;
    rill_script *script;
    require(rill_context_create(&ctx, NULL) == RILL_OK && rill_register_core(ctx) == RILL_OK);
    require(rill_script_load_text(&script, ctx, "lines.lua", "", 0, NULL) == RILL_OK);
    check_lines(script, text, size);
    if (rill_script_load_text(&script, ctx, "fuzz.lua", text, size, &options) == RILL_OK)
        read_all(ctx, script);
    else
        require(rill_error(ctx)[0] != '\0');
    rill_context_destroy(ctx);
    return 0;
}
