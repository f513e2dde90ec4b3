/* CTranslate2's model.bin: which files are read and which are refused, with the exact messages. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "kernels.h"
#include "tensor_file.h"

/* Included after helpers.h, since it uses names from there. */
#include "context_fixture.h"

/* --- file images -------------------------------------------------------------------------------------------------- */

enum { F32, I8, I16, I32, F16, BF16 };

typedef struct image {
    size_t n;
    char bytes[4096];
} image;

static void put(image *f, const void *bytes, size_t n)
{
    assert_true(f->n + n <= sizeof f->bytes);
    memcpy(f->bytes + f->n, bytes, n);
    f->n += n;
}

static void put_number(image *f, uint32_t value, size_t bytes)
{
    const unsigned char little[] = {value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24};
    put(f, little, bytes);
}

static void put_name(image *f, const char *name)
{
    put_number(f, (uint32_t)strlen(name) + 1, 2);
    put(f, name, strlen(name) + 1);
}

static image head(uint32_t variables)
{
    image f = {0};
    put_number(&f, 6, 4);
    put_name(&f, "TransformerSpec");
    put_number(&f, 7, 4);
    put_number(&f, variables, 4);
    return f;
}

static void put_variable(image *f, const char *name, int rank, const uint32_t *shape, uint32_t type, const void *bytes,
                         size_t n)
{
    put_name(f, name);
    put_number(f, (uint32_t)rank, 1);
    for (int i = 0; i < rank; i++) put_number(f, shape[i], 4);
    put_number(f, type, 1);
    put_number(f, (uint32_t)n, 4);
    put(f, bytes, n);
}

#define SHAPE(...) (sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)), ((uint32_t[]){__VA_ARGS__})

static const int8_t int8_values[3][2] = {{127, -64}, {-127, 1}, {0, -128}};
static const float int8_scale[3] = {127.0f, 2.0f, 0.5f};
static const int16_t int16_values[2][2] = {{1024, -32768}, {3, 32767}};
static const float int16_scale = 8.0f, number = 1.5f;
static const float full[2] = {1.5f, -2e-40f};
static const uint16_t f16_values[2] = {0x3C00, 0x0001}, bf16_values[2] = {0xC020, 0x3F80};
static const int32_t whole = -70000;
static const int16_t heads = 8;
static const int8_t flag = 1;

/* Make a file with one variable of each type, unsorted, and three aliases. */
static image sample(void)
{
    image f = head(12);
    put_variable(&f, "b/weight", SHAPE(3, 2), I8, int8_values, sizeof int8_values);
    put_variable(&f, "b/weight_scale", SHAPE(3), F32, int8_scale, sizeof int8_scale);
    put_variable(&f, "a/weight", SHAPE(2, 2), I16, int16_values, sizeof int16_values);
    put_variable(&f, "a/weight_scale", 0, NULL, F32, &int16_scale, sizeof int16_scale);
    put_variable(&f, "full", SHAPE(2), F32, full, sizeof full);
    put_variable(&f, "half", SHAPE(1, 2), F16, f16_values, sizeof f16_values);
    put_variable(&f, "brain", SHAPE(2), BF16, bf16_values, sizeof bf16_values);
    put_variable(&f, "distance", 0, NULL, I32, &whole, sizeof whole);
    put_variable(&f, "heads", 0, NULL, I16, &heads, sizeof heads);
    put_variable(&f, "pre_norm", 0, NULL, I8, &flag, sizeof flag);
    put_variable(&f, "queries_scale", 0, NULL, F32, &number, sizeof number);
    put_variable(&f, "bare", SHAPE(1), I8, &flag, sizeof flag);
    put_number(&f, 3, 4);
    put_name(&f, "also/weight"), put_name(&f, "b/weight");
    put_name(&f, "all/weight"), put_name(&f, "a/weight");
    put_name(&f, "second"), put_name(&f, "full");
    return f;
}

/* Append a variable as versions before 4 store it: with the size of an element and the number of elements. */
static void put_old_variable(image *f, const char *name, int rank, const uint32_t *shape, uint32_t size,
                             const void *bytes, size_t n)
{
    put_name(f, name);
    put_number(f, (uint32_t)rank, 1);
    for (int i = 0; i < rank; i++) put_number(f, shape[i], 4);
    put_number(f, size, 1);
    put_number(f, (uint32_t)n / size, 4);
    put(f, bytes, n);
}

/* A file of an old version: version 1 has OpenNMT-tf's names, version 2 a specification, version 3 an alias. */
static image old_sample(uint32_t version)
{
    image f = {0};
    put_number(&f, version, 4);
    if (version > 1) {
        put_name(&f, "TransformerBig");
        put_number(&f, version, 4);
    }
    put_number(&f, 4, 4);
    put_old_variable(&f, version == 1 ? "transformer/encoder/w_embs:0" : "encoder/embeddings/weight", SHAPE(3, 2), 1,
                     int8_values, sizeof int8_values);
    put_old_variable(&f, "encoder/embeddings/weight_scale", SHAPE(3), 4, int8_scale, sizeof int8_scale);
    put_old_variable(&f,
                     version == 1 ? "transformer/decoder/layer_0/masked_multi_head/conv1d_1/kernel:0"
                                  : "decoder/layer_0/self_attention/linear_1/weight",
                     SHAPE(2, 2), 2, int16_values, sizeof int16_values);
    put_old_variable(&f, "decoder/projection/bias", SHAPE(2), 4, full, sizeof full);
    if (version < 3) return f;
    put_number(&f, 1, 4);
    put_name(&f, "decoder/embeddings/weight"), put_name(&f, "encoder/embeddings/weight");
    return f;
}

static rill_status parse(rill_tensor_file **out, const image *f)
{
    return rill_tensor_file_parse(out, ctx, "m", f->bytes, f->n);
}

static void refuses(const image *f, const char *sentence)
{
    rill_tensor_file *t;
    assert_int_equal(parse(&t, f), RILL_ERR_FORMAT);
    assert_null(t);
    if (sentence != NULL) assert_string_equal(rill_error(ctx), sentence);
}

#define REFUSED(call, sentence)                         \
    do {                                                \
        assert_int_equal((call), RILL_ERR_FORMAT);      \
        assert_string_equal(rill_error(ctx), sentence); \
    } while (0)

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void reads(const rill_tensor_file *t, const char *name, int rank, const int64_t *shape, const float *expected,
                  size_t n)
{
    float out[16];
    assert_ok(ctx, rill_tensor_file_read(t, name, RILL_TENSOR_FLOATS, rank, shape, out));
    assert_memory_equal(out, expected, n * sizeof *out);
}

static void variables_of_all_types_are_read(void **state)
{
    (void)state;
    static const float i8_values[] = {1, -64 / 127.0f, -63.5f, 0.5f, 0, -256};
    static const float i16_values[] = {128, -4096, 0.375f, 32767 / 8.0f}, wanted_f16[] = {1, 0x1p-24f},
                       wanted_bf16[] = {-2.5f, 1};
    const image f = sample();
    rill_tensor_file *t;
    assert_ok(ctx, parse(&t, &f));
    assert_string_equal(t->ct2_spec, "TransformerSpec");
    assert_int_equal(t->ct2_revision, 7);
    assert_int_equal(rill_tensor_file_count(t), 15);
    assert_string_equal(rill_tensor_file_find(t, "a/weight")->dtype, "I16");
    reads(t, "b/weight", 2, (int64_t[]){3, 2}, i8_values, 6);
    reads(t, "also/weight", 2, (int64_t[]){3, 2}, i8_values, 6);
    reads(t, "a/weight", 2, (int64_t[]){2, 2}, i16_values, 4);
    reads(t, "all/weight", 2, (int64_t[]){2, 2}, i16_values, 4);
    reads(t, "full", 1, (int64_t[]){2}, full, 2);
    reads(t, "second", 1, (int64_t[]){2}, full, 2);
    reads(t, "half", 2, (int64_t[]){1, 2}, wanted_f16, 2);
    reads(t, "brain", 1, (int64_t[]){2}, wanted_bf16, 2);
    rill_tensor_file_close(t);
}

/* Scales belong to the weights that they scale and are no tensors. Integers without scales are no weights. */
static void what_is_no_weight_is_no_tensor(void **state)
{
    (void)state;
    const image f = sample();
    rill_tensor_file *t;
    float out[8];
    int same;
    assert_ok(ctx, parse(&t, &f));
    assert_true(rill_tensor_file_find(t, "b/weight_scale")->read);
    REFUSED(rill_tensor_file_read(t, "bare", RILL_TENSOR_FLOATS, 1, (int64_t[]){1}, out),
            "m: tensor \"bare\": expected dtype F32 or F16 or BF16, found I8");
    REFUSED(rill_tensor_file_read(t, "b/weight", RILL_TENSOR_F32, 2, (int64_t[]){3, 2}, out),
            "m: tensor \"b/weight\": expected dtype F32, found I8");
    REFUSED(rill_tensor_file_read(t, "b/weight", RILL_TENSOR_FLOATS, 2, (int64_t[]){2, 3}, out),
            "m: tensor \"b/weight\": expected shape [2, 3], found [3, 2]");
    assert_ok(ctx, rill_tensor_file_same_values(t, rill_tensor_file_find(t, "b/weight"),
                                                rill_tensor_file_find(t, "also/weight"), &same));
    assert_true(same);
    assert_ok(ctx, rill_tensor_file_same_values(t, rill_tensor_file_find(t, "b/weight"),
                                                rill_tensor_file_find(t, "a/weight"), &same));
    assert_false(same);
    rill_tensor_file_close(t);
}

static void numbers_are_read(void **state)
{
    (void)state;
    const image f = sample();
    rill_tensor_file *t;
    double value;
    assert_ok(ctx, parse(&t, &f));
    assert_ok(ctx, rill_ct2_number(t, "heads", 1, 100, NAN, &value));
    assert_true(value == 8 && rill_tensor_file_find(t, "heads")->read);
    assert_ok(ctx, rill_ct2_number(t, "distance", -1e6, 1e6, NAN, &value));
    assert_true(value == -70000);
    assert_ok(ctx, rill_ct2_number(t, "pre_norm", 0, 1, 0, &value));
    assert_true(value == 1);
    assert_ok(ctx, rill_ct2_number(t, "queries_scale", 0, 10, 1, &value));
    assert_true(value == 1.5);
    assert_ok(ctx, rill_ct2_number(t, "absent", 0, 10, 4, &value));
    assert_true(value == 4);
    REFUSED(rill_ct2_number(t, "absent", 0, 10, NAN, &value), "m: tensor \"absent\" is missing");
    REFUSED(rill_ct2_number(t, "heads", 0, 7, 1, &value),
            "m: tensor \"heads\": expected a number from 0 to 7, found 8");
    REFUSED(rill_ct2_number(t, "full", 0, 7, 1, &value),
            "m: tensor \"full\": expected one number, in F32 or an integer type");
    rill_tensor_file_close(t);
}

/* --- views -------------------------------------------------------------------------------------------------------- */

static void rows_can_have_names_of_their_own(void **state)
{
    (void)state;
    static const float first[] = {1, -64 / 127.0f}, rest[] = {-63.5f, 0.5f, 0, -256, 0, 0},
                       last[] = {0.375f, 32767 / 8.0f};
    const image f = sample();
    rill_tensor_file *t;
    float out[8];
    assert_ok(ctx, parse(&t, &f));
    assert_ok(ctx, tensor_add_view(t, "queries", "b/weight", 0, 1, 0));
    assert_ok(ctx, tensor_add_view(t, "keys", "also/weight", 1, 2, 1));
    assert_ok(ctx, tensor_add_view(t, "values", "a/weight", 1, 1, 0));
    assert_ok(ctx, tensor_add_view(t, "bias", "full", 0, 2, 2));
    assert_int_equal(rill_tensor_file_count(t), 19);
    reads(t, "queries", 2, (int64_t[]){1, 2}, first, 2);
    assert_true(rill_tensor_file_find(t, "b/weight")->read && !rill_tensor_file_find(t, "also/weight")->read);
    reads(t, "keys", 2, (int64_t[]){3, 2}, rest, 6);
    assert_true(rill_tensor_file_find(t, "also/weight")->read);
    reads(t, "values", 2, (int64_t[]){1, 2}, last, 2);
    reads(t, "bias", 1, (int64_t[]){4}, (float[]){full[0], full[1], 0, 0}, 4);
    REFUSED(rill_tensor_file_read(t, "keys", RILL_TENSOR_FLOATS, 2, (int64_t[]){2, 2}, out),
            "m: tensor \"also/weight\": expected shape [2, 2], found [3, 2]");
    REFUSED(tensor_add_view(t, "more", "b/weight", 2, 2, 0),
            "m: tensor \"b/weight\": expected a shape with at least 4 rows, found 3");
    REFUSED(tensor_add_view(t, "more", "heads", 0, 1, 0),
            "m: tensor \"heads\": expected a shape with at least 1 rows, found 0");
    REFUSED(tensor_add_view(t, "more", "absent", 0, 1, 0), "m: tensor \"absent\" is missing");
    REFUSED(tensor_add_view(t, "half", "full", 0, 1, 0), "m: tensor \"half\": another tensor has a part of this name");
    rill_tensor_file_close(t);
}

/* The file has more rows than the reader takes scales at a time. */
static void scales_of_many_rows_are_found(void **state)
{
    (void)state;
    enum { ROWS = 700 };
    image f = head(2);
    int8_t q[ROWS];
    float scale[ROWS], out[ROWS];
    rill_tensor_file *t;
    for (int i = 0; i < ROWS; i++) q[i] = (int8_t)(i % 100), scale[i] = 1.0f + (float)i;
    put_variable(&f, "w", SHAPE(ROWS, 1), I8, q, sizeof q);
    put_variable(&f, "w_scale", SHAPE(ROWS), F32, scale, sizeof scale);
    put_number(&f, 0, 4);
    assert_ok(ctx, parse(&t, &f));
    assert_ok(ctx, rill_tensor_file_read(t, "w", RILL_TENSOR_FLOATS, 2, (int64_t[]){ROWS, 1}, out));
    for (int i = 0; i < ROWS; i++) assert_true(out[i] == (float)q[i] / scale[i]);
    assert_ok(ctx, tensor_add_view(t, "v", "w", 100, 500, 0));
    assert_ok(ctx, rill_tensor_file_read(t, "v", RILL_TENSOR_FLOATS, 2, (int64_t[]){500, 1}, out));
    for (int i = 0; i < 500; i++) assert_true(out[i] == (float)q[100 + i] / scale[100 + i]);
    rill_tensor_file_close(t);
}

/* --- exact integers ----------------------------------------------------------------------------------------------- */

/* Return every quantised element of w, as an int8 GEMM computes it, times 127 and the output's unit. Row k of the
 * GEMM's A is 1 at k and 0 elsewhere. */
static void gemm_integers(size_t n, size_t k, const float *w, int *out)
{
    rill_kernels kernels;
    rill_weights packed;
    void *mem = aligned_alloc(64, (rill_gemm_pack_size(n, k, RILL_DTYPE_U8S8) + 63) / 64 * 64);
    float *a = calloc(k, sizeof *a), *c = calloc(n, sizeof *c);
    assert_non_null(mem), assert_non_null(a), assert_non_null(c);
    rill_kernels_init(&kernels, RILL_ISA_ALL);
    assert_int_equal(rill_gemm_pack_f32(&packed, n, k, w, k, RILL_DTYPE_U8S8, mem), 0);
    void *scratch = aligned_alloc(64, (rill_gemm_scratch_size(&packed, 1) + 64) / 64 * 64);
    for (size_t j = 0; j < k; j++) {
        a[j] = 1;
        const rill_gemm gemm = {.w = &packed, .rows = 1, .a = {a, k, NULL}, .c = {c, n, NULL}, .scratch = scratch};
        kernels.gemm(&gemm, NULL);
        a[j] = 0;
        for (size_t i = 0; i < n; i++) {
            float max = 0;
            for (size_t x = 0; x < k; x++) max = fmaxf(max, fabsf(w[i * k + x]));
            out[i * k + j] = max > 0 ? (int)lrintf(c[i] / (max / 127)) : 0;
        }
    }
    free(mem), free(a), free(c), free(scratch);
}

/* Rows quantised as CTranslate2 does, dequantised, and quantised again as rill does must give the same integers,
 * whatever the scale. */
static void eight_bits_stay_what_they_were(void **state)
{
    (void)state;
    enum { N = 37, K = 24 };
    static float w[N * K], scale[N], out[N * K];
    static int8_t q[N * K];
    static int again[N * K];
    uint64_t dice = 5;
    for (int round = 0; round < 40; round++) {
        image f = head(2);
        for (int i = 0; i < N; i++) {
            const float size = ldexpf(1.0f + (float)random_below(&dice, 1000) / 1000,
                                      (int)random_below(&dice, 40) - 30);
            float max = 0;
            for (int k = 0; k < K; k++) {
                w[i * K + k] = i == 3 ? 0 : size * ((float)random_below(&dice, 20001) / 10000 - 1);
                max = fmaxf(max, fabsf(w[i * K + k]));
            }
            scale[i] = 127.0f / (max > 0 ? max : 127.0f);
            for (int k = 0; k < K; k++) q[i * K + k] = (int8_t)lrintf(w[i * K + k] * scale[i]);
        }
        put_variable(&f, "w", SHAPE(N, K), I8, q, sizeof q);
        put_variable(&f, "w_scale", SHAPE(N), F32, scale, sizeof scale);
        put_number(&f, 0, 4);
        rill_tensor_file *t;
        assert_ok(ctx, parse(&t, &f));
        assert_ok(ctx, rill_tensor_file_read(t, "w", RILL_TENSOR_FLOATS, 2, (int64_t[]){N, K}, out));
        gemm_integers(N, K, out, again);
        for (int i = 0; i < N * K; i++) assert_int_equal(again[i], q[i]);
        rill_tensor_file_close(t);
    }
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

/* The sample with some bytes replaced at an offset; a negative one counts from the end. */
static image sample_with(long offset, const void *bytes, size_t n)
{
    image f = sample();
    memcpy(f.bytes + (offset < 0 ? (long)f.n + offset : offset), bytes, n);
    return f;
}

static void old_versions_are_read(void **state)
{
    (void)state;
    static const float i8_values[] = {1, -64 / 127.0f, -63.5f, 0.5f, 0, -256},
                       i16_values[] = {1.024f, -32.768f, 0.003f, 32.767f};
    for (uint32_t version = 1; version <= 3; version++) {
        const image f = old_sample(version);
        rill_tensor_file *t;
        assert_ok(ctx, parse(&t, &f));
        assert_string_equal(t->ct2_spec, version == 1 ? "TransformerBase" : "TransformerBig");
        assert_int_equal(t->ct2_revision, version);
        reads(t, "encoder/embeddings/weight", 2, (int64_t[]){3, 2}, i8_values, 6);
        reads(t, "decoder/layer_0/self_attention/linear_1/weight", 2, (int64_t[]){2, 2}, i16_values, 4);
        reads(t, "decoder/projection/bias", 1, (int64_t[]){2}, full, 2);
        if (version == 3) reads(t, "decoder/embeddings/weight", 2, (int64_t[]){3, 2}, i8_values, 6);
        rill_tensor_file_close(t);
    }
}

static void old_versions_are_checked(void **state)
{
    (void)state;
    image f = {0};
    put_number(&f, 1, 4);
    put_number(&f, 1, 4);
    image short_element = f, wrong_count = f, two = f;
    put_old_variable(&short_element, "x", SHAPE(2), 3, int8_values, 6);
    refuses(&short_element, "m: tensor \"x\": expected elements of 1, 2 or 4 bytes, found 3");
    put_old_variable(&wrong_count, "x", SHAPE(4), 4, full, sizeof full);
    refuses(&wrong_count, "m: tensor \"x\": its shape takes 16 bytes, it has 8");
    two.bytes[4] = 2; /* two names of old versions that mean the same variable */
    put_old_variable(&two, "encoder/dense/kernel:0", SHAPE(1), 1, int8_values, 1);
    put_old_variable(&two, "encoder/projection/weight", SHAPE(1), 1, int8_values, 1);
    refuses(&two, "m: tensor \"encoder/projection/weight\": it occurs twice");
    memset(f.bytes + 4, 0, 4); /* a file without variables is a file of another kind */
    put_name(&f, "x");
    refuses(&f, NULL);
    assert_non_null(strstr(rill_error(ctx), "m: header, byte 1"));
}

static void heads_are_checked(void **state)
{
    (void)state;
    image f = sample_with(0, "\7", 1);
    refuses(&f, "m: expected version 1 to 6 of CTranslate2's format, found 7");
    f = sample_with(0, "\0", 1);
    refuses(&f, "m: expected version 1 to 6 of CTranslate2's format, found 0");
    f = sample_with(26, "\377\377\377\177", 4); /* the bytes after version, name and revision */
    refuses(&f, "m: byte 30: the number of variables: more than the rest of the file");
    f = sample_with(26, "\13", 1);
    refuses(&f, "m: byte 317: the number of aliases: more than the rest of the file");
    f = sample_with(26, "\15", 1);
    refuses(&f, NULL);
    f = sample();
    put(&f, "x", 1);
    refuses(&f, "m: byte 400: the end: data follow the end");
}

static void names_are_checked(void **state)
{
    (void)state;
    static const char *const names[] = {"a\nb", "a b", "caf\303\251"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        image f = head(1);
        put_variable(&f, names[i], 0, NULL, I8, &flag, 1);
        put_number(&f, 0, 4);
        refuses(&f, "m: byte 32: the name of a variable: expected a name of printable letters that ends with a NUL");
    }
    image f = head(1);
    put_number(&f, 4, 2);
    put(&f, "a\0b\0", 4); /* a name with a NUL inside */
    put(&f, "\0\1\1\0\0\0\1\0\0\0\0", 11);
    refuses(&f, "m: byte 32: the name of a variable: expected a name of printable letters that ends with a NUL");
    f.bytes[33] = 'x', f.bytes[35] = 'x'; /* a name without a final NUL */
    refuses(&f, "m: byte 32: the name of a variable: expected a name of printable letters that ends with a NUL");
    f.bytes[30] = 1;
    refuses(&f, "m: byte 32: the name of a variable: expected a name of 1 to 511 bytes and a NUL");
    f.bytes[30] = 1, f.bytes[31] = 2;
    refuses(&f, "m: byte 32: the name of a variable: expected a name of 1 to 511 bytes and a NUL");
    f.bytes[30] = 100, f.bytes[31] = 0;
    refuses(&f, "m: byte 32: the name of a variable: the file ends inside it");
}

static void shapes_and_types_are_checked(void **state)
{
    (void)state;
    static const struct {
        int rank;
        uint32_t shape[9], type;
        size_t bytes;
        const char *sentence;
    } bad[] = {
        {9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, I8, 1, "m: tensor \"w\": expected at most 8 dimensions"},
        {1, {1}, 6, 1, "m: tensor \"w\": expected a type from 0 to 5"},
        {1, {2}, F32, 4, "m: tensor \"w\": its shape takes 8 bytes, it has 4"},
        {2, {0, 7}, F32, 4, "m: tensor \"w\": its shape takes 0 bytes, it has 4"},
        {3, {0xFFFFFFFF, 0xFFFFFFFF, 2}, F32, 4, "m: tensor \"w\": its shape is too large"},
        {8, {65536, 65536, 65536, 65536, 0, 1, 1, 1}, F32, 4, "m: tensor \"w\": its shape is too large"},
        {1, {0xFFFFFFFF}, I8, 4, "m: tensor \"w\": its shape takes 4294967295 bytes, it has 4"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        image f = head(1);
        put_variable(&f, "w", bad[i].rank, bad[i].shape, bad[i].type, full, bad[i].bytes);
        put_number(&f, 0, 4);
        refuses(&f, bad[i].sentence);
    }
    image f = head(1);
    put_variable(&f, "w", SHAPE(2), F32, full, 8);
    refuses(&f, "m: byte 52: the number of aliases: the file ends inside it");
    f.n--;
    refuses(&f, "m: tensor \"w\": it ends at byte 52 of the file, which has 51");
}

static void names_must_differ(void **state)
{
    (void)state;
    image f = head(2);
    put_variable(&f, "w", SHAPE(2), F32, full, 8);
    image twice = f;
    put_variable(&twice, "w", SHAPE(2), F32, full, 8);
    put_number(&twice, 0, 4);
    refuses(&twice, "m: tensor \"w\": it occurs twice");
    put_variable(&f, "v", SHAPE(2), F32, full, 8);
    put_number(&f, 1, 4);
    twice = f;
    put_name(&twice, "v"), put_name(&twice, "w");
    refuses(&twice, "m: tensor \"v\": it occurs twice");
    twice = f;
    put_name(&twice, "u"), put_name(&twice, "u");
    refuses(&twice, "m: alias \"u\": there is no variable \"u\"");
    twice = f;
    put_name(&twice, "u");
    put_number(&twice, 5, 2);
    put(&twice, "vw", 2);
    refuses(&twice, "m: byte 84: the target of an alias: the file ends inside it");
}

static void scales_are_checked(void **state)
{
    (void)state;
    static const float scales[3][3] = {{1, 0, 1}, {1, INFINITY, 1}, {1, -1, 1}};
    static const char *const scale_texts[] = {"0", "inf", "-1"};
    float out[6];
    for (int i = 0; i < 3; i++) {
        image f = head(2);
        char sentence[120];
        rill_tensor_file *t;
        put_variable(&f, "w", SHAPE(3, 2), I8, int8_values, sizeof int8_values);
        put_variable(&f, "w_scale", SHAPE(3), F32, scales[i], sizeof scales[i]);
        put_number(&f, 0, 4);
        assert_ok(ctx, parse(&t, &f));
        snprintf(sentence, sizeof sentence, "m: tensor \"w\": scale of row 1: expected a positive number, found %s",
                 scale_texts[i]);
        REFUSED(rill_tensor_file_read(t, "w", RILL_TENSOR_FLOATS, 2, (int64_t[]){3, 2}, out), sentence);
        rill_tensor_file_close(t);
    }
    image f = head(2), other = f;
    put_variable(&f, "w", SHAPE(3, 2), I8, int8_values, sizeof int8_values);
    other = f;
    put_variable(&f, "w_scale", SHAPE(2), F32, int8_scale, 8);
    put_number(&f, 0, 4);
    refuses(&f, "m: tensor \"w_scale\": expected one scale in F32, or one for each row");
    put_variable(&other, "w_scale", SHAPE(3), F16, int8_scale, 6);
    put_number(&other, 0, 4);
    refuses(&other, "m: tensor \"w_scale\": expected one scale in F32, or one for each row");
}

static image any_sample(uint32_t version)
{
    return version < 4 ? old_sample(version) : sample();
}

static void files_that_are_cut_off_are_refused(void **state)
{
    (void)state;
    for (uint32_t version = 1; version <= 4; version++) {
        image f = any_sample(version);
        for (f.n--; f.n > 0; f.n--) {
            rill_tensor_file *t;
            assert_int_equal(parse(&t, &f), RILL_ERR_FORMAT);
            assert_null(t);
        }
    }
}

/* With any byte changed, the file is read or refused with a message. */
static void damages_do_no_harm(void **state)
{
    (void)state;
    uint64_t dice = 9;
    for (int round = 0; round < 20000; round++) {
        image f = any_sample((uint32_t)round % 4 + 1);
        const char *copy = NULL;
        rill_tensor_file *t;
        for (uint32_t n = 1 + random_below(&dice, 3); n > 0; n--)
            f.bytes[random_below(&dice, (uint32_t)f.n)] = (char)random_below(&dice, 256);
        if (parse(&t, &f) != RILL_OK) {
            assert_true(rill_error(ctx)[0] != '\0');
            continue;
        }
        for (size_t i = 0; i < rill_tensor_file_count(t); i++) {
            const rill_file_tensor *e = rill_tensor_file_tensor(t, i);
            float out[1024];
            if ((e->end - e->begin) * 4 <= sizeof out)
                (void)rill_tensor_file_read(t, e->name, RILL_TENSOR_FLOATS, e->rank, e->shape, out);
            copy = e->name;
        }
        assert_true(copy != NULL || round % 4 != 3); /* a damaged file of an old version may have no variables left */
        rill_tensor_file_close(t);
    }
}

/* --- files and memory --------------------------------------------------------------------------------------------- */

static rill_status open_one(rill_context *other, const char *folder)
{
    char path[512];
    float out[6];
    rill_tensor_file *t;
    snprintf(path, sizeof path, "%s/model.bin", folder);
    rill_status status = rill_tensor_file_open(&t, other, path);
    if (status != RILL_OK) return status;
    for (int i = 0; i < 20 && status == RILL_OK; i++) {
        char name[20];
        snprintf(name, sizeof name, "part %d", i);
        status = tensor_add_view(t, name, "b/weight", 0, 1, 0);
    }
    if (status == RILL_OK) status = rill_tensor_file_read(t, "b/weight", RILL_TENSOR_FLOATS, 2, (int64_t[]){3, 2}, out);
    rill_tensor_file_close(t);
    return status;
}

static void a_file_survives_every_refusal(void **state)
{
    (void)state;
    char *folder = folder_make();
    const image f = sample();
    write_bytes(folder, "model.bin", f.bytes, f.n);
    assert_true(refuse_each_call(&memory, ctx, open_one, folder) > 20);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(variables_of_all_types_are_read),
        CASE(what_is_no_weight_is_no_tensor),
        CASE(numbers_are_read),
        CASE(rows_can_have_names_of_their_own),
        CASE(scales_of_many_rows_are_found),
        CASE(eight_bits_stay_what_they_were),
        CASE(old_versions_are_read),
        CASE(old_versions_are_checked),
        CASE(heads_are_checked),
        CASE(names_are_checked),
        CASE(shapes_and_types_are_checked),
        CASE(names_must_differ),
        CASE(scales_are_checked),
        CASE(files_that_are_cut_off_are_refused),
        CASE(damages_do_no_harm),
        CASE(a_file_survives_every_refusal),
    };
    return cmocka_run_group_tests_name("domains_ct2_file", tests, NULL, NULL);
}
