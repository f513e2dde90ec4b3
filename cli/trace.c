/* --trace: every event of a run as one JSON object per line.
 *
 * A run has many timesteps and this is inside its loop, so the lines, which hold numbers and fixed words only, are printed
 * directly rather than built as trees. */
#include <inttypes.h>

#include "report.h"

static void put_ints(cli_output *out, const char *name, const int32_t *values, int32_t n)
{
    cli_output_printf(out, ",\"%s\":[", name);
    for (int32_t i = 0; i < n; i++) cli_output_printf(out, i ? ",%" PRId32 : "%" PRId32, values[i]);
    cli_output_write(out, "]", 1);
}

static void put_seconds(cli_output *out, const rill_seconds *s)
{
    cli_output_printf(out, ",\"seconds\":{");
    for (const cli_stage *t = cli_stages; t < cli_stages + CLI_STAGES; t++)
        cli_output_printf(out, "\"%s\":%.9f,", t->name, *cli_stage_of(s, t));
    cli_output_printf(out, "\"total\":%.9f", s->total);
    cli_output_write(out, "}", 1);
}

static void put_timestep(cli_output *out, const rill_trace_event *e)
{
    cli_output_printf(out,
                      "{\"event\":\"timestep\",\"timestep\":%" PRId64 ",\"in_flight\":%" PRId32 ",\"selected\":%" PRId32
                      ",\"rows\":%" PRId64 ",\"items\":[",
                      e->timestep, e->in_flight, e->n, e->rows);
    for (int32_t i = 0; i < e->n; i++) cli_output_printf(out, i ? ",%" PRId64 : "%" PRId64, e->items[i]);
    cli_output_write(out, "]", 1);
    put_ints(out, "depths", e->depths, e->n);
    put_ints(out, "widths_before", e->widths_before, e->n);
    put_ints(out, "widths_merged", e->widths_merged, e->n);
    put_ints(out, "widths_after", e->widths_after, e->n);
    put_seconds(out, &e->seconds);
}

void cli_trace_event(void *output, const rill_trace_event *e)
{
    cli_output *out = output;
    switch (e->kind) {
    case RILL_TRACE_TIMESTEP: put_timestep(out, e); break;
    case RILL_TRACE_ADMITTED:
        cli_output_printf(out,
                          "{\"event\":\"admitted\",\"timestep\":%" PRId64 ",\"item\":%" PRId64 ",\"slot\":%" PRId32,
                          e->timestep, e->item_id, e->slot);
        break;
    case RILL_TRACE_SENT_BACK:
        cli_output_printf(out,
                          "{\"event\":\"sent_back\",\"timestep\":%" PRId64 ",\"item\":%" PRId64 ",\"slot\":%" PRId32
                          ",\"item_timesteps\":%" PRId32,
                          e->timestep, e->item_id, e->slot, e->item_timesteps);
        break;
    case RILL_TRACE_FINISHED:
        cli_output_printf(out,
                          "{\"event\":\"finished\",\"timestep\":%" PRId64 ",\"item\":%" PRId64 ",\"slot\":%" PRId32
                          ",\"item_timesteps\":%" PRId32 ",\"outputs\":%" PRId32 ",\"status\":\"%s\"",
                          e->timestep, e->item_id, e->slot, e->item_timesteps, e->outputs, rill_status_name(e->status));
        break;
    }
    cli_output_printf(out, ",\"worker\":%" PRId32 "}\n", e->worker);
}
