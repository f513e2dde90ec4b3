/* rill/safetensors.h: which tensor files are accepted and refused, with the exact messages; single files and shards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers.h"
#include "rill/safetensors.h"
#include "support/resident.h"

/* Included after helpers.h, since it uses names from there. */
#include "context_fixture.h"

#define REFUSED(call, sentence)                         \
    do {                                                \
        assert_int_equal((call), RILL_ERR_FORMAT);      \
        assert_string_equal(rill_error(ctx), sentence); \
    } while (0)
/* --- file images -------------------------------------------------------------------------------------------------- */

#define TENSOR(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* Make a file image: header text, then `data` bytes of the pattern 0, 1, 2, ... */
static char *image(const char *header, size_t data, size_t *length)
{
    size_t size = strlen(header);
    char *bytes = malloc(8 + size + data);
    assert_non_null(bytes);
    for (int i = 0; i < 8; i++) bytes[i] = (char)((uint64_t)size >> (8 * i));
    memcpy(bytes + 8, header, size);
    for (size_t i = 0; i < data; i++) bytes[8 + size + i] = (char)i;
    *length = 8 + size + data;
    return bytes;
}

/* --- one file ----------------------------------------------------------------------------------------------------- */

/* Parse an image. Tensors are read in place, so changes to its data take effect afterwards. */
static rill_tensor_file *parse_image(const char *header, size_t n, char **bytes, char **data)
{
    size_t length;
    rill_tensor_file *t;
    *bytes = image(header, n, &length);
    *data = *bytes + length - n;
    assert_ok(ctx, rill_tensor_file_parse(&t, ctx, "m", *bytes, length));
    return t;
}

static void tensors_convert_all_float_types(void **state)
{
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"}," TENSOR("half", "F16", "[2,4]", "[8,24]") "," TENSOR(
            "full", "F32", "[2]",
            "[0,8]") "," TENSOR("brain", "BF16", "[3]",
                                "[24,30]") "," TENSOR("long", "I64", "[1]",
                                                      "[30,38]") "," TENSOR("none", "F32", "[0,5]", "[8,8]") "} ";
    static const float full[2] = {1.5f, -2e-40f};
    static const uint16_t f16_values[8] = {0x3C00, 0xC000, 0x7BFF, 0x0400, 0x0001, 0x83FF, 0x8000, 0x3555};
    static const float half_value[8] = {1, -2, 65504, 0x1p-14f, 0x1p-24f, -0x1.FF8p-15f, -0.0f, 0x1.554p-2f};
    static const uint16_t bf16_values[3] = {0x3F80, 0xC020, 0x0000};
    char *bytes, *data;
    rill_tensor_file *t = parse_image(header, 38, &bytes, &data);
    memcpy(data, full, 8);
    memcpy(data + 8, f16_values, 16);
    memcpy(data + 24, bf16_values, 6);
    float out[8];
    assert_int_equal(rill_tensor_file_read(t, "full", RILL_TENSOR_FLOATS, 1, (int64_t[]){2}, out), RILL_OK);
    assert_memory_equal(out, full, sizeof full);
    assert_int_equal(rill_tensor_file_read(t, "half", RILL_TENSOR_FLOATS, 2, (int64_t[]){2, 4}, out), RILL_OK);
    assert_memory_equal(out, half_value, sizeof half_value);
    assert_int_equal(rill_tensor_file_read(t, "brain", RILL_TENSOR_FLOATS, 1, (int64_t[]){3}, out), RILL_OK);
    assert_true(out[0] == 1 && out[1] == -2.5f && out[2] == 0);
    assert_int_equal(rill_tensor_file_read(t, "none", RILL_TENSOR_FLOATS, 2, (int64_t[]){0, 5}, out), RILL_OK);
    assert_int_equal(rill_tensor_file_count(t), 5);
    assert_string_equal(rill_tensor_file_tensor(t, 0)->name, "brain");
    assert_int_equal(rill_tensor_file_find(t, "half")->shape[1], 4);
    assert_null(rill_tensor_file_find(t, "quarter"));
    rill_tensor_file_close(t);
    free(bytes);
}

/* Tensors of any size are equal if their types, shapes and bytes are. */
static void tensors_are_compared(void **state)
{
    (void)state;
    static const char header[] =
        "{" TENSOR("a", "F32", "[1280]", "[0,5120]") "," TENSOR("b", "F32", "[1280]", "[5120,10240]") "," TENSOR(
            "c", "F32", "[1280]", "[10240,15360]") "," TENSOR("d", "F32", "[2,640]",
                                                              "[15360,20480]") "," TENSOR("e", "I32", "[1280]",
                                                                                          "[20480,25600]") "}";
    char *bytes, *data;
    rill_tensor_file *t = parse_image(header, 25600, &bytes, &data);
    int same;
    data[15360 - 1] ^= 1; /* the last byte of tensor c */
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(
            rill_tensor_file_same_values(t, rill_tensor_file_tensor(t, 0), rill_tensor_file_tensor(t, i), &same),
            RILL_OK);
        assert_int_equal(same, i < 2);
    }
    rill_tensor_file_close(t);
    free(bytes);
}

static void read_errors_name_the_expectation(void **state)
{
    (void)state;
    char *bytes, *data;
    rill_tensor_file *t = parse_image(
        "{" TENSOR("a", "F32", "[2,3]", "[0,24]") "," TENSOR("b", "I64", "[1]", "[24,32]") "}", 32, &bytes, &data);
    static const float bad[6] = {0, 1, __builtin_inff(), 0, 0, 0};
    memcpy(data, bad, sizeof bad);
    float out[6];
    REFUSED(rill_tensor_file_read(t, "c", RILL_TENSOR_FLOATS, 1, (int64_t[]){2}, out),
            "m: tensor \"c\" is missing, expected with shape [2]");
    REFUSED(rill_tensor_file_read(t, "a", RILL_TENSOR_FLOATS, 2, (int64_t[]){3, 2}, out),
            "m: tensor \"a\": expected shape [3, 2], found [2, 3]");
    REFUSED(rill_tensor_file_read(t, "a", RILL_TENSOR_FLOATS, 1, (int64_t[]){6}, out),
            "m: tensor \"a\": expected shape [6], found [2, 3]");
    REFUSED(rill_tensor_file_read(t, "b", RILL_TENSOR_FLOATS, 1, (int64_t[]){1}, out),
            "m: tensor \"b\": expected dtype F32 or F16 or BF16, found I64");
    REFUSED(rill_tensor_file_read(t, "a", RILL_TENSOR_F16, 2, (int64_t[]){2, 3}, out),
            "m: tensor \"a\": expected dtype F16, found F32");
    REFUSED(rill_tensor_file_read(t, "a", RILL_TENSOR_FLOATS, 2, (int64_t[]){2, 3}, out),
            "m: tensor \"a\": expected finite values, found inf at element 2");
    rill_tensor_file_close(t);
    free(bytes);
}

/* After 64 MB of a file are read, its pages are released. */
static void file_pages_are_released(void **state)
{
    (void)state;
    enum { COUNT = 4 << 20, TENSORS = 4 };
    static float out[COUNT];
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[4194304],\"data_offsets\":[0,16777216]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[4194304],\"data_offsets\":[16777216,33554432]},"
                                 "\"c\":{\"dtype\":\"F32\",\"shape\":[4194304],\"data_offsets\":[33554432,50331648]},"
                                 "\"d\":{\"dtype\":\"F32\",\"shape\":[4194304],\"data_offsets\":[50331648,67108864]}}";
    static const char *const names[TENSORS] = {"a", "b", "c", "d"};
    rill_tensor_file *t;
    size_t length;
    char *folder = folder_make(), *path = join_path(folder, "m"), *bytes = image(header, 0, &length);
    write_bytes(folder, "m", bytes, length);
    assert_int_equal(truncate(path, (off_t)(length + sizeof out * TENSORS)), 0);
    memset(out, 1, sizeof out);
    const double used_before = resident();
    assert_ok(ctx, rill_tensor_file_open(&t, ctx, path));
    for (size_t i = 0; i < TENSORS; i++) {
        assert_ok(ctx, rill_tensor_file_read(t, names[i], RILL_TENSOR_F32, 1, (int64_t[]){COUNT}, out));
        assert_true(out[0] == 0 && out[COUNT - 1] == 0);
    }
    const double after = resident();
    rill_tensor_file_close(t);
    free(bytes), free(path);
    folder_remove(folder);
    if (used_before >= 0 && after - used_before > 8) fail_msg("%.1f MB more are in use", after - used_before);
}

/* A file that is truncated while a model is read gives an error. */
static void truncated_tensors_are_errors(void **state)
{
    (void)state;
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[4096],\"data_offsets\":[0,16384]}}";
    static float out[4096];
    rill_tensor_file *t;
    size_t length;
    char *folder = folder_make(), *path = join_path(folder, "m"), *bytes = image(header, 16384, &length);
    write_bytes(folder, "m", bytes, length);
    assert_ok(ctx, rill_tensor_file_open(&t, ctx, path));
    assert_int_equal(truncate(path, (off_t)length - 1), 0);
    assert_int_equal(rill_tensor_file_read(t, "a", RILL_TENSOR_FLOATS, 1, (int64_t[]){4096}, out), RILL_ERR_IO);
    assert_error(ctx, "cannot read %s: it became shorter while it was read", path);
    rill_tensor_file_close(t);
    free(bytes), free(path);
    folder_remove(folder);
}

static void tensors_refuse_bad_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data;
        const char *sentence;
    } bad[] = {
        {"[]", 0, "m: header: expected an object"},
        {"{\"a\"", 0, "m: header, byte 4: ':' expected near end of file"},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("a", "F32", "[1]", "[4,8]") "}", 8,
         "m: header, byte 57: duplicate object key near '\"a\"'"},
        {"{\"a\":3}", 0, "m: tensor \"a\": expected an object with dtype, shape and data_offsets"},
        {"{" TENSOR("a", "F31", "[1]", "[0,4]") "}", 4, "m: tensor \"a\": its dtype \"F31\" is not known"},
        {"{" TENSOR("a", "F32", "1", "[0,4]") "}", 4, "m: tensor \"a\": expected an array as shape"},
        {"{" TENSOR("a", "F32", "[-1]", "[0,4]") "}", 4, "m: tensor \"a\": expected a shape of integers from 0"},
        {"{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4,
         "m: tensor \"a\": expected a shape of at most 8 dimensions"},
        {"{" TENSOR("a", "F32", "[4294967296,4294967296]", "[0,4]") "}", 4, "m: tensor \"a\": its shape is too large"},
        {"{" TENSOR("a", "F32", "[1]", "[0]") "}", 4,
         "m: tensor \"a\": expected data_offsets with two integers from 0"},
        {"{" TENSOR("a", "F32", "[1]", "[-4,4]") "}", 4,
         "m: tensor \"a\": expected data_offsets with two integers from 0"},
        {"{" TENSOR("a", "F32", "[1]", "[0,4.5]") "}", 4,
         "m: tensor \"a\": expected data_offsets with two integers from 0"},
        {"{" TENSOR("a", "F32", "[1]", "[4,0]") "}", 4, "m: tensor \"a\": its data_offsets end before they begin"},
        {"{" TENSOR("a", "F32", "[2]", "[0,8]") "}", 4,
         "m: tensor \"a\": its data ends at byte 8 of the data, which has 4"},
        {"{" TENSOR("a", "F32", "[2]", "[0,4]") "}", 4,
         "m: tensor \"a\": its shape takes 8 bytes, its data_offsets span 4"},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]", "[2,6]") "}", 6,
         "m: tensor \"b\": expected at byte 4 of the data, found at 2: tensors overlap"},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]", "[8,12]") "}", 12,
         "m: tensor \"b\": expected at byte 4 of the data, found at 8: tensors leave a gap"},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "}", 7, "m: tensors end at byte 4 of the data, which has 7"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t length;
        char *bytes = image(bad[i].header, bad[i].data, &length);
        rill_tensor_file *t;
        assert_int_equal(rill_tensor_file_parse(&t, ctx, "m", bytes, length), RILL_ERR_FORMAT);
        assert_string_equal(rill_error(ctx), bad[i].sentence);
        assert_null(t);
        free(bytes);
    }
}

static void tensors_refuse_bad_lengths(void **state)
{
    (void)state;
    rill_tensor_file *t;
    REFUSED(rill_tensor_file_parse(&t, ctx, "m", "abc", 3),
            "m: expected 8 bytes of header length, the file has 3 bytes");
    REFUSED(rill_tensor_file_parse(&t, ctx, "m", "\3\0\0\0\0\0\0\0{}", 10),
            "m: the header of 3 bytes ends after the file (10 bytes)");
    REFUSED(rill_tensor_file_parse(&t, ctx, "m", "\377\377\377\377\377\377\377\377{}", 10),
            "m: the header of 18446744073709551615 bytes ends after the file (10 bytes)");
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 300\n";
    REFUSED(rill_tensor_file_parse(&t, ctx, "m", pointer, sizeof pointer - 1),
            "m: the file is a Git LFS pointer: fetch the weights with `git lfs pull`");
    assert_int_equal(rill_tensor_file_parse(&t, ctx, "m", "\2\0\0\0\0\0\0\0{}", 10), RILL_OK);
    assert_int_equal(rill_tensor_file_count(t), 0);
    assert_null(rill_tensor_file_find(t, "a"));
    rill_tensor_file_close(t);
}

/* --- shards ------------------------------------------------------------------------------------------------------- */

/* Make a directory with two shards and an index: "a" and "c" in the first shard, "b" in the second. */
static char *make_shards(const char *index)
{
    static const char *const headers[] = {
        "{" TENSOR("c", "F32", "[1]", "[4,8]") "," TENSOR("a", "I32", "[1]", "[0,4]") "}",
        "{\"__metadata__\":{}," TENSOR("b", "F32", "[2]", "[0,8]") "}"};
    static const char *const names[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
    char *folder = folder_make();
    for (size_t i = 0; i < 2; i++) {
        size_t length;
        char *bytes = image(headers[i], 8, &length);
        memset(bytes + length - 8, 0, 8);
        bytes[length - 2] = (char)(i == 0 ? 0x80 : 0), bytes[length - 1] = 0x3F; /* the top bytes of 1 and 0.5 */
        write_bytes(folder, names[i], bytes, length);
        free(bytes);
    }
    write_string(folder, "model.safetensors.index.json", index);
    return folder;
}

#define FIRST "model-00001-of-00002.safetensors"
#define SECOND "model-00002-of-00002.safetensors"
#define INDEX(map) "{\"metadata\": {\"total_size\": 0}, \"weight_map\": " map "}"
#define COMPLETE_INDEX INDEX("{\"b\": \"" SECOND "\", \"a\": \"" FIRST "\", \"c\": \"" FIRST "\"}")

/* A sharded model can be opened by its directory, by the name of a single file, or by the index. */
static void several_files_are_one_set(void **state)
{
    (void)state;
    static const char *const doors[] = {".", "model.safetensors", "model.safetensors.index.json"};
    char *folder = make_shards(COMPLETE_INDEX);
    for (size_t i = 0; i < 3; i++) {
        char *path = join_path(folder, doors[i]);
        rill_tensor_file *t;
        float out[2] = {0};
        int same;
        assert_ok(ctx, rill_tensor_file_open(&t, ctx, path));
        assert_int_equal(rill_tensor_file_count(t), 3);
        assert_string_equal(rill_tensor_file_tensor(t, 1)->name, "b");
        assert_ok(ctx, rill_tensor_file_read(t, "b", RILL_TENSOR_F32, 1, (int64_t[]){2}, out));
        assert_true(out[0] == 0 && out[1] == 0.5f);
        assert_ok(ctx, rill_tensor_file_read(t, "c", RILL_TENSOR_F32, 1, (int64_t[]){1}, out));
        assert_true(out[0] == 1);
        assert_true(rill_tensor_file_find(t, "c")->read && !rill_tensor_file_find(t, "a")->read);
        assert_ok(ctx,
                  rill_tensor_file_same_values(t, rill_tensor_file_find(t, "a"), rill_tensor_file_find(t, "c"), &same));
        assert_false(same);
        rill_tensor_file_close(t);
        free(path);
    }
    folder_remove(folder);
}

/* A single file takes precedence over shards. Without an index, a missing file is reported as usual. */
static void single_file_takes_precedence(void **state)
{
    (void)state;
    char *folder = make_shards(COMPLETE_INDEX), *path = join_path(folder, "model.safetensors");
    size_t length;
    rill_tensor_file *t;
    char *bytes = image("{" TENSOR("alone", "F32", "[1]", "[0,4]") "}", 4, &length);
    write_bytes(folder, "model.safetensors", bytes, length);
    assert_ok(ctx, rill_tensor_file_open(&t, ctx, folder));
    assert_int_equal(rill_tensor_file_count(t), 1);
    rill_tensor_file_close(t);
    assert_int_equal(unlink(path), 0);
    free(path);
    path = join_path(folder, "model.safetensors.index.json");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rill_tensor_file_open(&t, ctx, folder), RILL_ERR_IO);
    assert_error(ctx, "cannot open %s: it is a directory, expected a regular file", folder);
    free(path);
    path = join_path(folder, "model.safetensors");
    assert_int_equal(rill_tensor_file_open(&t, ctx, path), RILL_ERR_NOT_FOUND);
    assert_error(ctx, "cannot open %s/model.safetensors: No such file or directory", folder);
    free(bytes), free(path);
    folder_remove(folder);
}

static void shards_must_match_the_index(void **state)
{
    (void)state;
    static const struct {
        const char *index, *sentence;
    } bad[] = {
        {"[]", "%s/model.safetensors.index.json: weight_map: expected an object of tensor: file"},
        {"{\"weight_map\": [\"a\"]}",
         "%s/model.safetensors.index.json: weight_map: expected an object of tensor: file"},
        {INDEX("{}"), "%s/model.safetensors.index.json: weight_map: expected an object of tensor: file"},
        {INDEX("{\"a\": 1}"),
         "%s/model.safetensors.index.json: weight_map: \"a\": expected the name of a file in the same folder"},
        {INDEX("{\"a\": \"../" FIRST "\"}"),
         "%s/model.safetensors.index.json: weight_map: \"a\": expected the name of a file in the same folder"},
        {INDEX("{\"a\": \"..\"}"),
         "%s/model.safetensors.index.json: weight_map: \"a\": expected the name of a file in the same folder"},
        {INDEX("{\"a\": \"" FIRST "\", \"b\": \"" SECOND "\"}"),
         "%s/" FIRST ": tensor \"c\" is not in the weight_map of %s/model.safetensors.index.json"},
        {INDEX("{\"b\": \"" SECOND "\", \"a\": \"" FIRST "\", \"c\": \"" SECOND "\"}"),
         "%s/" FIRST ": tensor \"c\" is missing in " SECOND
         ", where the weight_map of %s/model.safetensors.index.json places it"},
        {INDEX("{\"b\": \"" SECOND "\", \"a\": \"" FIRST "\", \"c\": \"" FIRST "\", \"d\": \"" SECOND "\"}"),
         "%s/model.safetensors.index.json: weight_map: tensor \"d\" is not in " SECOND},
        {INDEX("{\"a\": \"third.safetensors\"}"),
         "%s/model.safetensors.index.json: weight_map names a file that does not exist: cannot open "
         "%s/third.safetensors: No such file or directory"},
        {"{\"weight_map\": {\"a\": \"" FIRST "\", \"a\": \"" SECOND "\"}}", NULL},
        {"{\"weight_map\":", NULL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *folder = make_shards(bad[i].index), sentence[700];
        rill_tensor_file *t;
        assert_int_equal(rill_tensor_file_open(&t, ctx, folder), RILL_ERR_FORMAT);
        assert_null(t);
        snprintf(sentence, sizeof sentence, bad[i].sentence != NULL ? bad[i].sentence : "", folder, folder);
        if (bad[i].sentence != NULL) assert_string_equal(rill_error(ctx), sentence);
        folder_remove(folder);
    }
}

/* A small index that names thousands of files is refused. */
static void number_of_shards_is_limited(void **state)
{
    (void)state;
    enum { MANY = 300 };
    char *text = malloc(MANY * 40 + 40);
    assert_non_null(text);
    size_t pos = (size_t)sprintf(text, "{\"weight_map\": {");
    for (int i = 0; i < MANY; i++) pos += (size_t)sprintf(text + pos, "%s\"t%d\": \"f%d\"", i > 0 ? ", " : "", i, i);
    sprintf(text + pos, "}}");
    char *folder = make_shards(text);
    rill_tensor_file *t;
    assert_int_equal(rill_tensor_file_open(&t, ctx, folder), RILL_ERR_FORMAT);
    assert_error(ctx, "%s/model.safetensors.index.json: weight_map: expected at most 256 files", folder);
    free(text);
    folder_remove(folder);
}

/* A shard is checked as strictly as a single file, and the message names it. */
static void damage_names_the_shard(void **state)
{
    (void)state;
    char *folder = make_shards(COMPLETE_INDEX);
    size_t length;
    char *bytes = read_bytes(folder, SECOND, &length);
    rill_tensor_file *t;
    for (size_t n = 0; n < length; n++) {
        write_bytes(folder, SECOND, bytes, n);
        assert_int_equal(rill_tensor_file_open(&t, ctx, folder), RILL_ERR_FORMAT);
        assert_non_null(strstr(rill_error(ctx), SECOND ": "));
    }
    write_bytes(folder, SECOND, bytes, length);
    assert_ok(ctx, rill_tensor_file_open(&t, ctx, folder));
    float out[2];
    assert_int_equal(rill_tensor_file_read(t, "absent", RILL_TENSOR_F32, 1, (int64_t[]){2}, out), RILL_ERR_FORMAT);
    assert_error(ctx, "%s/model.safetensors.index.json: tensor \"absent\" is missing, expected with shape [2]", folder);
    assert_int_equal(rill_tensor_file_read(t, "b", RILL_TENSOR_F32, 1, (int64_t[]){3}, out), RILL_ERR_FORMAT);
    assert_error(ctx, "%s/" SECOND ": tensor \"b\": expected shape [3], found [2]", folder);
    rill_tensor_file_close(t);
    free(bytes);
    folder_remove(folder);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static rill_status open_folder(rill_context *with, const char *folder)
{
    rill_tensor_file *t;
    const rill_status status = rill_tensor_file_open(&t, with, folder);
    if (status == RILL_OK) rill_tensor_file_close(t);
    return status;
}

static void opening_survives_every_refusal(void **state)
{
    (void)state;
    char *folder = make_shards(COMPLETE_INDEX);
    size_t length;
    assert_true(refuse_each_call(&memory, ctx, open_folder, folder) > 8);
    char *bytes = image("{" TENSOR("a", "F32", "[1]", "[0,4]") "}", 4, &length);
    write_bytes(folder, "model.safetensors", bytes, length);
    assert_true(refuse_each_call(&memory, ctx, open_folder, folder) > 4);
    free(bytes);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(tensors_convert_all_float_types),  CASE(tensors_are_compared),
        CASE(read_errors_name_the_expectation), CASE(file_pages_are_released),
        CASE(truncated_tensors_are_errors),     CASE(tensors_refuse_bad_headers),
        CASE(tensors_refuse_bad_lengths),       CASE(several_files_are_one_set),
        CASE(single_file_takes_precedence),     CASE(shards_must_match_the_index),
        CASE(number_of_shards_is_limited),      CASE(damage_names_the_shard),
        CASE(opening_survives_every_refusal),
    };
    return cmocka_run_group_tests_name("domains_tensor_file", tests, NULL, NULL);
}
