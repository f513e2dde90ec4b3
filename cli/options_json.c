/* Options in effect; see options_json.h. */
#include "options_json.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_streaming(const rill_settings *settings)
{
    for (const rill_method_info *m = rill_method_table(); m->name; m++)
        if (!strcmp(m->name, settings->method)) return m->streaming;
    return 0;
}

int cli_option_is_in_effect(const rill_settings *s, int has_heuristics, const rill_option *row)
{
    char value[RILL_OPTION_MAX], unset[RILL_OPTION_MAX];
    rill_settings defaults;
    rill_settings_default(&defaults);
    switch (row->offset) {
    case offsetof(rill_settings, method): return 1;
    case offsetof(rill_settings, seed): /* 0 is a valid seed, and top_k 0 means all choices */
    case offsetof(rill_settings, top_k): return s->sample > 0;
    case offsetof(rill_settings, cube): return s->cube > RILL_CUBE_NONE;
    case offsetof(rill_settings, groups): return s->groups > 1;
    case offsetof(rill_settings, repetition_penalty): return s->repetition_penalty != 0 && s->repetition_penalty != 1;
    case offsetof(rill_settings, min_width): return s->min_width > 0 && has_heuristics;
    case offsetof(rill_settings, max_items):
    case offsetof(rill_settings, refill): return is_streaming(s);
    default: break;
    }
    return strcmp(rill_settings_get(s, row, value), rill_settings_get(&defaults, row, unset)) != 0;
}

const char *cli_option_value(const rill_settings *settings, const rill_option *row, char out[RILL_OPTION_MAX])
{
    enum { LONGEST_EXACT = 8 };
    rill_settings_get(settings, row, out);
    if (row->type == RILL_OPTION_SWITCH) return out[0] == '1' ? "true" : "false";
    if (row->type != RILL_OPTION_REAL || strlen(out) <= LONGEST_EXACT) return out;
    const double value = rill_read_number(out, NULL), divisor = round(1 / value);
    if (1 / divisor == value) rill_print(out, RILL_OPTION_MAX, "1/%.0f", divisor);
    return out;
}

/* The value as the JSON type of the option. */
static json_t *value_json(const rill_settings *settings, const rill_option *row)
{
    char text[RILL_OPTION_MAX];
    rill_settings_get(settings, row, text);
    switch (row->type) {
    case RILL_OPTION_INT:
    case RILL_OPTION_BYTES: return json_integer(strtoll(text, NULL, 10));
    case RILL_OPTION_REAL: {
        const double value = rill_read_number(text, NULL); /* JSON has no infinities */
        return isfinite(value) ? json_real(value) : json_string(text);
    }
    case RILL_OPTION_SWITCH: return json_boolean(text[0] == '1');
    default: return json_string(text);
    }
}

static json_t *chain_json(const rill_chain_entry *entry, int32_t n)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++)
        json_array_append_new(list, entry[i].arguments[0] ? json_sprintf("%s:%s", entry[i].name, entry[i].arguments)
                                                          : json_string(entry[i].name));
    return list;
}

static void add_run_options(json_t *object, const rill_engine_setup *setup)
{
    if (setup->cube_key) json_object_set_new(object, "cube_key", json_string("function"));
    if (setup->budget) json_object_set_new(object, "max_batch_hypotheses", json_string("function"));
    json_object_set_new(object, "heuristics", chain_json(setup->heuristics, setup->n_heuristics));
    json_object_set_new(object, "scorers", chain_json(setup->scorers, setup->n_scorers));
    if (setup->scheduler) json_object_set_new(object, "scheduler", json_string(setup->scheduler->name));
}

json_t *cli_options_json(const rill_settings *settings, const rill_search_config *search_config)
{
    const rill_engine_setup *setup = search_config->setup;
    char name[RILL_OPTION_MAX];
    json_t *object = json_object();
    for (const rill_option *row = rill_setting_table(); row->name; row++) {
        if (row->offset == offsetof(rill_settings, patience))
            continue; /* the option patience is shown as its resolved stop_after */
        if (!cli_option_is_in_effect(settings, setup->n_heuristics > 0, row)) continue;
        snprintf(name, sizeof name, "%s", row->name);
        for (char *dash = name; (dash = strchr(dash, '-'));) *dash = '_';
        json_object_set_new(object, name, value_json(settings, row));
    }
    add_run_options(object, setup);
    return object;
}
