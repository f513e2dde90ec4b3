/* digest.c: `digest SET` prints a hash for each operation, over all bits of its results on a few hundred random calls.
 *
 * Instruction sets with the same rounding print the same hashes on any processor: AVX2 and the AArch64 sets do
 * (tests/aarch64/cross_build.sh compares them). Exits with 77 if the processor lacks the set. */
#include <math.h>

#include "kernel_check.h"

enum { CALLS = 120 };

static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
    for (const unsigned char *p = bytes; n > 0; n--) h = (h ^ *p++) * 1099511628211u;
    return h;
}

static float *numbers(check *c, size_t n, float scale)
{
    float *x = buffer(c, n);
    dice_fill(c, x, n, scale);
    return x;
}

static uint64_t digest_gemm(check *c, uint64_t h)
{
    const size_t rows = dice_from(c, 1, 24), n = dice_from(c, 1, 170), k = dice_from(c, 1, 150);
    float *w = numbers(c, n * k, 0.3f), *a = numbers(c, rows * k, 1.0f), *bias = numbers(c, n, 1.0f),
          *out = buffer(c, rows * n);
    const rill_activation activation = (rill_activation)dice_below(c, 5);
    if (dice_below(c, 4) == 0) { /* all terms are minus zero; sets may choose either zero as the larger one */
        for (size_t i = 0; i < rows * k; i++) a[i] = -fabsf(a[i]);
        for (size_t i = 0; i < n; i++) bias[i] = -0.0f;
        memset(w, 0, n * k * sizeof *w);
    }
    for (rill_dtype dtype = RILL_DTYPE_F32; dtype <= RILL_DTYPE_U8S8; dtype++) {
        rill_weights packed;
        rill_gemm_pack_f32(&packed, n, k, w, k, dtype, buffer_aligned(c, rill_gemm_pack_size(n, k, dtype)));
        c->k.gemm(&(rill_gemm){.w = &packed,
                               .rows = rows,
                               .a = {a, k},
                               .bias = bias,
                               .activation = activation,
                               .c = {out, n},
                               .scratch = buffer_aligned(c, rill_gemm_scratch_size(&packed, rows))},
                  NULL);
        h = hash(h, out, rows * n * sizeof *out);
    }
    return h;
}

/* Hash attention with narrow and other heads, with dot-product and additive scores. */
static uint64_t digest_attention(check *c, uint64_t h)
{
    const size_t rows = dice_from(c, 1, 9),
                 width = dice_below(c, 2) ? (size_t)32 << dice_below(c, 2) : dice_from(c, 1, 90);
    const size_t heads = (size_t)2 << dice_below(c, 3), all = heads * width, count = dice_from(c, 1, 40);
    const int32_t first = 0, length = (int32_t)count;
    rill_attention a = {.rows = rows,
                        .heads = heads,
                        .width = width,
                        .scale = 0.3f,
                        .additive = dice_below(c, 4) ? NULL : numbers(c, all, 1.0f),
                        .query = {numbers(c, rows * all, 1.0f), all},
                        .keys = {numbers(c, count * all, 1.0f), all},
                        .values = {numbers(c, count * all, 1.0f), all},
                        .first = &first,
                        .length = &length,
                        .slot = buffer_int(c, rows),
                        .weights = buffer(c, rows * heads * count),
                        .ld_weights = count,
                        .out = {buffer(c, rows * all), all}};
    c->k.attention(&a, NULL);
    h = hash(h, a.weights, rows * heads * count * sizeof(float));
    return hash(h, a.out.data, rows * all * sizeof(float));
}

static uint64_t digest_best(check *c, uint64_t h)
{
    static const size_t symbols[] = {7, 100, 513, 3000, 9000};
    const size_t rows = dice_from(c, 1, 4), n = symbols[dice_below(c, 5)], best = dice_from(c, 1, 90);
    rill_best b = {.rows = rows,
                   .symbols = n,
                   .n_best = best,
                   .logits = {numbers(c, rows * n, 3.0f), n},
                   .bias = numbers(c, n, 1.0f),
                   .ids = buffer_int(c, rows * best),
                   .logp = buffer(c, rows * best),
                   .ld_out = best,
                   .counts = buffer_int(c, rows),
                   .log_norm = buffer(c, rows)};
    c->k.best(&b, NULL);
    h = hash(h, b.ids, rows * best * sizeof *b.ids);
    h = hash(h, b.logp, rows * best * sizeof *b.logp);
    h = hash(h, b.log_norm, rows * sizeof *b.log_norm);
    return hash(h, b.counts, rows * sizeof *b.counts);
}

static uint64_t digest_rows(check *c, uint64_t h)
{
    const size_t rows = dice_from(c, 1, 9), n = dice_from(c, 1, 90), bytes = rows * n * sizeof(float);
    float *gates = numbers(c, rows * 4 * n, 2.0f), *prev = numbers(c, rows * n, 1.0f);
    float *cell = buffer(c, rows * n), *out = buffer(c, rows * n);
    rill_row_call call = {.rows = rows,
                          .width = n,
                          .x = {[LSTM_gates] = {gates, 4 * n, NULL},
                                [LSTM_c] = {prev, n, NULL},
                                [LSTM_c_out] = {cell, n, NULL},
                                [LSTM_h_out] = {out, n, NULL}}};
    rill_run_rows(&c->k, RILL_OP_LSTM, &call, NULL);
    h = hash(hash(h, cell, bytes), out, bytes);
    call = (rill_row_call){.rows = rows,
                           .width = n,
                           .x = {[GRU_input] = {gates, 4 * n, NULL},
                                 [GRU_hidden_gates] = {gates + n, 4 * n, NULL},
                                 [GRU_h] = {prev, n, NULL},
                                 [GRU_h_out] = {out, n, NULL}}};
    rill_run_rows(&c->k, RILL_OP_GRU, &call, NULL);
    h = hash(h, out, bytes);
    const rill_op normalise = {.normalise = {.eps = 1e-5f, .rms = (int)dice_below(c, 2)}};
    call = (rill_row_call){
        .rows = rows,
        .width = n,
        .op = &normalise,
        .x = {[NORMALISE_x] = {prev, n, NULL}, [NORMALISE_residual] = {cell, n, NULL}, [NORMALISE_y] = {out, n, NULL}}};
    rill_run_rows(&c->k, RILL_OP_NORMALISE, &call, NULL);
    return hash(h, out, bytes);
}

static uint64_t digest_math(check *c, uint64_t h)
{
    static const int functions[] = {RILL_TANH, RILL_SIGMOID, CHECK_EXP, RILL_SWISH, RILL_GELU};
    const size_t n = dice_from(c, 1, 300);
    float *x = buffer(c, n), *y = buffer(c, n);
    dice_fill_hard(c, x, n, dice_below(c, 3) ? 3.0f : 40.0f);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        elementwise(c, functions[i], n, x, y);
        h = hash(h, y, n * sizeof *y);
    }
    return h;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint64_t (*run)(check *c, uint64_t h);
    } operations[] = {{"gemm", digest_gemm},
                      {"attention", digest_attention},
                      {"best", digest_best},
                      {"rows", digest_rows},
                      {"math", digest_math}};
    check c = {.dice = 1, .op = "digest", .isa = argc == 2 ? argv[1] : "", .what = "random calls"};
    rill_isa_mask mask;
    if (argc != 2 || rill_isa_by_name(argv[1], &mask) != 0) {
        fputs("usage: digest SET\n", stderr);
        return 2;
    }
    rill_kernels_init(&c.k, mask);
    if (strcmp(c.k.name, argv[1]) != 0) return 77;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        uint64_t h = 14695981039346656037u;
        for (int call = 0; call < CALLS; call++) {
            h = operations[i].run(&c, h);
            buffers_finish(&c);
        }
        printf("%s %016llx\n", operations[i].name, (unsigned long long)h);
    }
    return 0;
}
