/* Make a variant of a translation model: slightly different weights, a deeper decoder, shorter maximum lengths.
 *
 *   vary_model FROM TO SEED LAYERS POSITIONS
 *
 * FROM is a directory with a Marian model in fp16, TO an existing directory. Every weight keeps its sign and exponent and
 * gets other low bits, from a hash of SEED, the tensor's name and the weight's index, so a variant is the same on every
 * machine. The decoder gets LAYERS layers; layer i is made from layer i % n of the n in FROM. POSITIONS is the maximum
 * length of inputs and outputs. The caller copies the tokenizer's files. */
#include <jansson.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGED_BITS = 5 }; /* of the 10 bits of a 16-bit number's mantissa; this changes a number by up to 3 % */

static const char layer_prefix[] = "model.decoder.layers.";

static void fail(const char *what, const char *where)
{
    fprintf(stderr, "vary_model: %s: %s\n", what, where);
    exit(1);
}

static void *checked_memory(void *made, const char *where)
{
    if (made == NULL) fail("out of memory or not to be read", where);
    return made;
}

static FILE *open_file(const char *folder, const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return checked_memory(fopen(path, mode), path);
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t hash_name(const char *name, uint64_t seed)
{
    for (; *name != '\0'; name++) seed = mix(seed * 31 + (unsigned char)*name);
    return seed;
}

/* The file being written: its header, which grows, and the bytes of the tensors one after the other. */
typedef struct writer {
    json_t *header;
    FILE *out;
    size_t n_written;
    uint64_t seed;
} writer;

static void add_tensor(writer *w, const char *name, json_t *from, const unsigned char *data)
{
    json_t *offsets = json_object_get(from, "data_offsets");
    const size_t begin = (size_t)json_integer_value(json_array_get(offsets, 0)),
                 end = (size_t)json_integer_value(json_array_get(offsets, 1)), bytes = end - begin;
    json_t *to = json_deep_copy(from);
    json_object_set_new(to, "data_offsets",
                        json_pack("[I, I]", (json_int_t)w->n_written, (json_int_t)(w->n_written + bytes)));
    json_object_set_new(w->header, name, to);
    const uint64_t seed = hash_name(name, w->seed);
    for (size_t i = 0; i < bytes; i += 2) {
        unsigned char number[2] = {data[begin + i], data[begin + i + 1]};
        number[0] ^= (unsigned char)(mix(seed + i) & ((1u << CHANGED_BITS) - 1));
        if (fwrite(number, 1, 2, w->out) != 2) fail("cannot write", name);
    }
    w->n_written += bytes;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Return the number of the layer that a tensor belongs to, or -1; *rest: the name after the number. */
static int tensor_layer(const char *name, const char **rest)
{
    if (strncmp(name, layer_prefix, sizeof layer_prefix - 1) != 0) return -1;
    char *end;
    const long layer = strtol(name + sizeof layer_prefix - 1, &end, 10);
    *rest = end;
    return (int)layer;
}

static void add_tensors(writer *w, json_t *header, const unsigned char *data, int had, int layers)
{
    const size_t n = json_object_size(header);
    const char **name = checked_memory(calloc(n + 1, sizeof *name), "names"), *key, *rest;
    json_t *value;
    size_t count = 0;
    json_object_foreach(header, key, value) if (strcmp(key, "__metadata__") != 0) name[count++] = key;
    qsort(name, count, sizeof *name, compare_names);
    for (size_t i = 0; i < count; i++) {
        const int layer = tensor_layer(name[i], &rest);
        value = json_object_get(header, name[i]);
        if (strcmp(json_string_value(json_object_get(value, "dtype")), "F16") != 0) fail("not in fp16", name[i]);
        if (layer < 0) add_tensor(w, name[i], value, data);
        for (int to = layer; layer >= 0 && to < layers; to += had) {
            char fresh[256];
            snprintf(fresh, sizeof fresh, "%s%d%s", layer_prefix, to, rest);
            add_tensor(w, fresh, value, data);
        }
    }
    free(name);
}

static unsigned char *read_file(const char *folder, const char *name, size_t *size)
{
    FILE *file = open_file(folder, name, "rb");
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = checked_memory(malloc(*size + 1), name);
    if (fread(bytes, 1, *size, file) != *size) fail("cannot read", name);
    fclose(file);
    return bytes;
}

static uint64_t read_size(const unsigned char *bytes)
{
    uint64_t size = 0;
    for (int i = 7; i >= 0; i--) size = size << 8 | bytes[i];
    return size;
}

/* The header comes first in the file but is known last, so the tensors are in a temporary file until now. */
static void finish_weights(writer *w, const char *folder)
{
    char *text = checked_memory(json_dumps(w->header, JSON_COMPACT | JSON_SORT_KEYS), "header");
    const size_t length = strlen(text), padded = (length + 7) / 8 * 8;
    FILE *file = open_file(folder, "model.safetensors", "wb");
    for (int i = 0; i < 8; i++) fputc((int)((uint64_t)padded >> (8 * i) & 255), file);
    fprintf(file, "%s%*s", text, (int)(padded - length), "");
    rewind(w->out);
    for (int c = fgetc(w->out); c != EOF; c = fgetc(w->out)) fputc(c, file);
    if (fclose(file) != 0) fail("cannot write", folder);
    free(text);
}

static void vary_weights(const char *from, const char *to, uint64_t seed, int had, int layers)
{
    size_t size;
    unsigned char *bytes = read_file(from, "model.safetensors", &size);
    const uint64_t length = read_size(bytes);
    json_t *header = checked_memory(json_loadb((char *)bytes + 8, length, 0, NULL), "model.safetensors");
    writer w = {.header = json_object(), .out = checked_memory(tmpfile(), "temporary file"), .seed = seed};
    add_tensors(&w, header, bytes + 8 + length, had, layers);
    finish_weights(&w, to);
    fclose(w.out);
    json_decref(w.header);
    json_decref(header);
    free(bytes);
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    if (argc != 6) fail("usage", "vary_model FROM TO SEED LAYERS POSITIONS");
    size_t size;
    unsigned char *text = read_file(argv[1], "config.json", &size);
    json_t *config = checked_memory(json_loadb((char *)text, size, 0, NULL), "config.json");
    const int had = (int)json_integer_value(json_object_get(config, "decoder_layers")), layers = atoi(argv[4]);
    if (had < 1 || layers < 1 || atoi(argv[5]) < 1) fail("expected numbers above 0", argv[4]);
    json_object_set_new(config, "decoder_layers", json_integer(layers));
    json_object_set_new(config, "max_length", json_integer(atoi(argv[5])));
    json_object_set_new(config, "max_position_embeddings", json_integer(atoi(argv[5])));
    vary_weights(argv[1], argv[2], strtoull(argv[3], NULL, 10), had, layers);
    FILE *file = open_file(argv[2], "config.json", "wb");
    if (json_dumpf(config, file, JSON_INDENT(2)) != 0 || fclose(file) != 0) fail("cannot write", argv[2]);
    json_decref(config);
    free(text);
    return 0;
}
