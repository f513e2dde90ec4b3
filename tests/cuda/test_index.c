/* test_index.c: index lists computed from columns, in rows.cu. */
#include "launch.h"
#include "rig.h"
#include "support/dice.h"
#include "support/harness.h"

static void columns_are_mapped(void **state)
{
    rig g;
    (void)state;
    rig_open(&g, (size_t)1 << 20);
    for (int64_t i = 0; i < harness_iterations(100); i++) {
        dice d = dice_seeded(harness_seed(1) + (uint64_t)i);
        const int32_t n = dice_range(&d, 0, 600), with = dice_range(&d, 0, 7);
        const size_t bytes = ((size_t)n + 1) * sizeof(int32_t);
        rig_begin(&g);
        int32_t *column = rig_put(&g, bytes), *chosen = rig_put(&g, bytes), *map = rig_put(&g, bytes),
                *base = rig_put(&g, bytes), *count = rig_put(&g, sizeof *count), *out = rig_out(&g, bytes);
        for (int32_t r = 0; r < n; r++) {
            column[r] = dice_range(&d, -3, n - 1);
            chosen[r] = dice_range(&d, -3, n - 1);
            map[r] = dice_range(&d, 0, 1000);
            base[r] = dice_range(&d, 0, 1000);
        }
        *count = n;
        rig_upload(&g);
        gpu_run_index(g.queue, &(gpu_index){.rows = {rig_device_ptr(&g, count), n + dice_range(&d, 0, 300)},
                                            .column = rig_device_ptr(&g, column),
                                            .entry = with & 1 ? rig_device_ptr(&g, chosen) : NULL,
                                            .lookup = with & 2 ? rig_device_ptr(&g, map) : NULL,
                                            .base = with & 4 ? rig_device_ptr(&g, base) : NULL,
                                            .out = rig_device_ptr(&g, out)});
        rig_download(&g);
        for (int32_t r = 0; r < n; r++) {
            const int32_t row = with & 1 ? chosen[r] : r, x = row < 0 ? row : column[row];
            int32_t want = x;
            if (with & 6) want = x < 0 ? -1 : (with & 4 ? base[r] : 0) + (with & 2 ? map[x] : x);
            assert_int_equal(out[r], want);
        }
        assert_int_equal(out[n], -1);
    }
    rig_close(&g);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(columns_are_mapped),
};

HARNESS_MAIN(tests)
