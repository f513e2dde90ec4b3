/* Relative position bias: expands T5's buckets to one bias for each distance.
 *
 * Source: Raffel et al. 2020, appendix, and transformers' modeling_t5.py. In a decoder all buckets are for earlier
 * positions; in an encoder half of the buckets are for earlier and half for later positions. The first half of a
 * direction's buckets are exact distances. The second half are logarithmic ranges up to the maximum distance; larger
 * distances use the last bucket.
 *
 * Invariant: buckets equal transformers', which computes the logarithm in fp32. */
#include <math.h>

#include "mt_model.h"

/* The bucket of a distance >= 0 in a direction that has `buckets` buckets. */
static int32_t distance_bucket(int32_t distance, int32_t buckets, int32_t max_distance)
{
    const int32_t exact = buckets / 2;
    if (distance < exact) return distance;
    const float ratio = (float)log((double)((float)distance / (float)exact)) /
                        (float)log((double)max_distance / (double)exact);
    const int32_t bucket = exact + (int32_t)(ratio * (float)(buckets - exact));
    return bucket < buckets ? bucket : buckets - 1;
}

void mt_expand_buckets(const mt_net *net, const float *bucket_bias, size_t heads, int causal, float *out)
{
    const int32_t max_distance = net->settings.max_distance, all = net->settings.n_buckets,
                  buckets = causal ? all : all / 2;
    for (size_t h = 0; h < heads; h++, out += 2 * max_distance + 1) {
        for (int32_t d = -max_distance; d <= max_distance; d++) {
            const int32_t first_bucket = d > 0 && !causal ? buckets : 0, distance = d > 0 && causal ? 0
                                                                                    : d < 0         ? -d
                                                                                                    : d;
            out[max_distance + d] =
                bucket_bias[(size_t)(first_bucket + distance_bucket(distance, buckets, max_distance)) * heads + h];
        }
    }
}
