/* domains/common/lstm: a batch of sequences against the equations, one number at a time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lstm.h"

enum { H = 11, LD = 16, WORDS = 6, M = 5, LONGEST = 7 };

static const int32_t length[M] = {7, 4, 4, 1, 0};

static float weight(size_t i)
{
    return (float)((i * 2654435761u >> 7) % 2001) * 1e-3f - 1.0f;
}

typedef struct world {
    float hh[4 * H * H], start[WORDS * 4 * H];
    void *packed;
    rill_weights weights;
    int32_t words[M][LONGEST];
    const int32_t *input[M];
    float out[M][LONGEST * LD], h[M * LD], c[M * LD], gates[M * 4 * H];
    float *out_of[M];
    int32_t index[M];
} world;

static void fill(world *w)
{
    for (size_t i = 0; i < 4 * H * H; i++) w->hh[i] = weight(i);
    for (size_t i = 0; i < WORDS * 4 * H; i++) w->start[i] = weight(i + 9999);
    for (size_t s = 0; s < M; s++) {
        w->input[s] = w->words[s];
        w->out_of[s] = w->out[s];
        for (size_t t = 0; t < LONGEST; t++) w->words[s][t] = (int32_t)((s * 5 + t * 7 + t * t) % WORDS);
    }
    assert_int_equal(posix_memalign(&w->packed, 64, rill_gemm_pack_size(4 * H, H, RILL_DTYPE_F32)), 0);
    rill_weight_part part = {.w = w->hh, .k = H, .stride_n = H, .stride_k = 1};
    assert_int_equal(rill_gemm_pack_f32(&w->weights, 4 * H, &part, 1, RILL_DTYPE_F32, w->packed), 0);
}

static void step_plainly(const world *w, int32_t word, double *h, double *c)
{
    double gates[4 * H], old[H];
    memcpy(old, h, sizeof old);
    for (size_t g = 0; g < 4 * H; g++) {
        gates[g] = (double)w->start[(size_t)word * 4 * H + g];
        for (size_t k = 0; k < H; k++) gates[g] += (double)w->hh[g * H + k] * old[k];
    }
    for (size_t j = 0; j < H; j++) {
        double in = 1 / (1 + exp(-gates[j])), forget = 1 / (1 + exp(-gates[H + j]));
        double out = 1 / (1 + exp(-gates[3 * H + j]));
        c[j] = forget * c[j] + in * tanh(gates[2 * H + j]);
        h[j] = out * tanh(c[j]);
    }
}

static void batch_follows_the_equations(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    fill(w);
    rill_kernels kernels;
    rill_kernels_init(&kernels, RILL_ISA_ALL);
    for (int reversed = 0; reversed < 2; reversed++) {
        rill_lstm_run(&(rill_lstm_batch){.kernels = &kernels,
                                         .recurrent = &w->weights,
                                         .hidden = H,
                                         .start = w->start,
                                         .ld_start = 4 * H,
                                         .m = M,
                                         .length = length,
                                         .input = w->input,
                                         .out = w->out_of,
                                         .ld_out = LD,
                                         .out_reversed = reversed,
                                         .h = w->h,
                                         .c = w->c,
                                         .ld_state = LD,
                                         .gates = w->gates,
                                         .index = w->index});
        for (size_t s = 0; s < M; s++) {
            double h[H] = {0}, c[H] = {0};
            for (int32_t t = 0; t < length[s]; t++) {
                step_plainly(w, w->words[s][t], h, c);
                const float *row = w->out[s] + (reversed ? length[s] - 1 - t : t) * LD;
                for (size_t j = 0; j < H; j++) assert_true(fabs((double)row[j] - h[j]) < 1e-5);
            }
            for (size_t j = 0; length[s] > 0 && j < H; j++) {
                assert_true(fabs((double)w->h[s * LD + j] - h[j]) < 1e-5);
                assert_true(fabs((double)w->c[s * LD + j] - c[j]) < 1e-5);
            }
        }
    }
    free(w->packed);
    free(w);
}

static void order_is_by_length_then_number(void **state)
{
    (void)state;
    enum { MANY = 500 };
    int32_t lengths[MANY], order[MANY];
    for (int32_t i = 0; i < MANY; i++) lengths[i] = (int32_t)((uint32_t)i * 2654435761u >> 27);
    rill_lstm_order(MANY, lengths, order);
    for (int32_t i = 1; i < MANY; i++) {
        int32_t a = order[i - 1], b = order[i];
        assert_true(lengths[a] > lengths[b] || (lengths[a] == lengths[b] && a < b));
    }
    rill_lstm_order(0, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_follows_the_equations),
        cmocka_unit_test(order_is_by_length_then_number),
    };
    return cmocka_run_group_tests_name("domains_lstm", tests, NULL, NULL);
}
