/* Random decisions of tests, from a seed or a fuzzer's bytes. After the last byte, draws are lower bounds. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct dice {
    uint64_t state;       /* state of the random numbers, used if bytes == NULL */
    const uint8_t *bytes; /* [n] bytes from which a fuzzer's decisions are drawn; NULL: draw from a seed */
    size_t n, pos;
} dice;

/* Make one step of a 64-bit hash: all pseudo-random numbers of these tests are made with it. */
static inline uint64_t dice_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Return a number in [0, 1), made from a hash. */
static inline double dice_unit(uint64_t hash)
{
    return (double)(hash >> 11) * 0x1p-53;
}

static inline dice dice_seeded(uint64_t seed)
{
    return (dice){.state = dice_mix(seed, 1)};
}

static inline dice dice_from_bytes(const uint8_t *bytes, size_t n)
{
    return (dice){.bytes = bytes, .n = n};
}

/* Return an integer in [low, high]. */
static inline int32_t dice_range(dice *d, int32_t low, int32_t high)
{
    uint64_t span = (uint64_t)((int64_t)high - low) + 1, value = 0;
    if (d->bytes == NULL) {
        d->state = dice_mix(d->state, 7);
        value = d->state;
    } else {
        for (uint64_t reach = 1; reach < span && d->pos < d->n; reach <<= 8) value = value << 8 | d->bytes[d->pos++];
    }
    return low + (int32_t)(value % span);
}

/* Return 1 with a probability of `percent`/100, else 0. */
static inline int dice_chance(dice *d, int32_t percent)
{
    return dice_range(d, 0, 99) >= 100 - percent;
}

static inline int32_t dice_pick(dice *d, int32_t n, const int32_t *values)
{
    return values[dice_range(d, 0, n - 1)];
}
#define DICE_PICK(d, ...) \
    dice_pick(d, (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (const int32_t[]){__VA_ARGS__})
