/* Products, of the stand-in or, with ON_GPU, of cuBLASLt: that one algorithm sums alike for any number of rows is not written down
 * anywhere, so it is looked at here. */
#include <string.h>

#include "kernels.h"
#include "rig.h"
#include "support/dice.h"
#include "support/harness.h"

/* A row's product is the same to the bit among any others. */
static void rows_are_alike_among_any(void **state)
{
    static const struct {
        int32_t n, k;
        gpu_type type;
    } shapes[] = {{8, 16, GPU_F32}, {33, 7, GPU_F32}, {128, 256, GPU_BF16}, {512, 128, GPU_F32}, {3, 1, GPU_BF16}};
    enum { ROWS = 70 };
    (void)state;
    rig g;
    rig_open(&g, 4 << 20);
    dice d = dice_seeded(5);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int32_t n = shapes[i].n, k = shapes[i].k, ld = (n + 3) / 4 * 4;
        const size_t each = gpu_type_bytes(shapes[i].type), count = (size_t)(n + ROWS) * (size_t)k;
        char why[GPU_TEXT];
        rig_begin(&g);
        char *w = rig_put(&g, (size_t)n * (size_t)k * each), *a = rig_put(&g, ROWS * (size_t)k * each);
        float *all = rig_out(&g, ROWS * (size_t)ld * 4), *one = rig_out(&g, ROWS * (size_t)ld * 4);
        for (size_t x = 0; x < count; x++) {
            const float value = (float)dice_range(&d, -1000, 1000) / 512.0f;
            char *to = x < (size_t)n * (size_t)k ? w + x * each : a + (x - (size_t)n * (size_t)k) * each;
            const uint16_t rounded = rill_bf16(value);
            memcpy(to, shapes[i].type == GPU_F32 ? (const void *)&value : (const void *)&rounded, each);
        }
        rig_down(&g);
        gpu_matrix m = {.w = rig_at(&g, w), .type = shapes[i].type, .n = n, .k = k};
        assert_int_equal(gpu_matrix_choose(g.device, &m, why), 0);
        gpu_product(g.queue, &m, ROWS, rig_at(&g, a), rig_at(&g, all), ld);
        for (int32_t r = 0; r < ROWS; r += 8) /* every eighth row is aligned: from there on one row, two, ... */
            gpu_product(g.queue, &m, 1 + r / 8 % 6, (char *)rig_at(&g, a) + (size_t)(r * k) * each,
                        (float *)rig_at(&g, one) + r * ld, ld);
        rig_up(&g);
        for (int32_t r = 0; r < ROWS; r++)
            if (r % 8 < 1 + r / 8 % 6) assert_memory_equal(all + r * ld, one + r * ld, (size_t)n * sizeof *all);
    }
    rig_close(&g);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_are_alike_among_any),
};

HARNESS_MAIN(tests)
