/* Dropout, the residual sum and layer normalization, fused; and their backward pass.

   No mask is stored: it is a function of the row's seed, the sub-layer (`site`) and the column, and the backward pass
   computes it again. `keep_mask` in model/dropout.py computes the same masks in PyTorch. */
#include <math.h>
#include <stdint.h>

enum { HALF = 16, BLOCK = 2 * HALF, CHUNK = 16 * BLOCK }; /* columns */

/* SplitMix64 (Steele, Lea, Flood 2014): the random number of a row at a site. */
static uint64_t seed_at(int64_t row_seed, long site) {
    uint64_t z = (uint64_t)row_seed + ((uint64_t)site + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Write the factors of elements begin ... begin + n of a row: 0 with probability dropped / 2^16, else `scale`. `begin`
   is a multiple of BLOCK, and `factor` holds n floats rounded up to a multiple of BLOCK. A 32-bit hash of the row's
   seed and a count (Wellons's lowbias32) decides on two elements, half a block apart, so that the loop vectorises. */
static inline void factors(
    float *factor, uint64_t seed, long begin, long n, uint32_t dropped, float scale) {
    const uint32_t first = (uint32_t)seed + (uint32_t)(begin / 2), second = (uint32_t)(seed >> 32);
    for (long b = 0; b < n; b += BLOCK)
        for (uint32_t j = 0; j < HALF; j++) {
            uint32_t h = first + (uint32_t)(b / 2) + j;
            h = (h ^ (h >> 16)) * 0x21f0aaadu + second;
            h = (h ^ (h >> 15)) * 0xd35a2d97u;
            h ^= h >> 15;
            factor[b + j] = (h & 0xffff) >= dropped ? scale : 0;
            factor[b + HALF + j] = (h >> 16) >= dropped ? scale : 0;
        }
}

/* out_RD = x + Dropout(y), or Dropout(y) if there is no x. */
void heed_dropout_add(
    const float *x, const float *y, float *out, long rows, long d, const int64_t *seeds, long site, long dropped,
    float scale) {
    float factor[CHUNK];
    for (long r = 0; r < rows; r++) {
        const uint64_t seed = seed_at(seeds[r], site);
        for (long begin = 0; begin < d; begin += CHUNK) {
            const long n = d - begin < CHUNK ? d - begin : CHUNK;
            factors(factor, seed, begin, n, (uint32_t)dropped, scale);
            if (x) {
                for (long c = 0; c < n; c++) out[c] = x[c] + y[c] * factor[c];
                x += n;
            } else
                for (long c = 0; c < n; c++) out[c] = y[c] * factor[c];
            y += n, out += n;
        }
    }
}

/* out_RD = LayerNorm(x + Dropout(y)); the mean and 1 / deviation of each row are for the backward pass. `factor` is
   scratch for d floats, rounded up to a full block. */
void heed_dropout_add_norm(
    const float *x, const float *y, const float *gain, const float *bias, float *out, float *means,
    float *inverse_deviations, float *restrict factor, long rows, long d, float epsilon, const int64_t *seeds,
    long site, long dropped, float scale) {
    for (long r = 0; r < rows; r++, x += d, y += d, out += d) {
        factors(factor, seed_at(seeds[r], site), 0, d, (uint32_t)dropped, scale);
        float sum = 0, squares = 0;
        for (long c = 0; c < d; c++) {
            factor[c] = x[c] + y[c] * factor[c];
            sum += factor[c];
        }
        const float mean = sum / d;
        for (long c = 0; c < d; c++) squares += (factor[c] - mean) * (factor[c] - mean);
        const float inverse_deviation = 1 / sqrtf(squares / d + epsilon);
        for (long c = 0; c < d; c++) out[c] = (factor[c] - mean) * inverse_deviation * gain[c] + bias[c];
        means[r] = mean, inverse_deviations[r] = inverse_deviation;
    }
}

/* Given the gradient of the output, write those of x and y, and accumulate those of gain and bias. `factor` is scratch
   as above, and `normal` is scratch for d floats. */
void heed_dropout_add_norm_backward(
    const float *grad, const float *x, const float *y, const float *gain, const float *means,
    const float *inverse_deviations, float *grad_x, float *grad_y, float *restrict grad_gain, float *restrict grad_bias, float *restrict factor,
    float *restrict normal, long rows, long d, const int64_t *seeds, long site, long dropped, float scale) {
    for (long r = 0; r < rows; r++, grad += d, x += d, y += d, grad_x += d, grad_y += d) {
        const float mean = means[r], inverse_deviation = inverse_deviations[r];
        factors(factor, seed_at(seeds[r], site), 0, d, (uint32_t)dropped, scale);
        float sum = 0, along = 0;
        for (long c = 0; c < d; c++) {
            normal[c] = (x[c] + y[c] * factor[c] - mean) * inverse_deviation;
            sum += grad[c] * gain[c];
            along += grad[c] * gain[c] * normal[c];
            grad_gain[c] += grad[c] * normal[c];
            grad_bias[c] += grad[c];
        }
        /* The output depends neither on the mean nor on the deviation: project both directions out. */
        sum /= d, along /= d;
        for (long c = 0; c < d; c++) {
            const float g = (grad[c] * gain[c] - sum - normal[c] * along) * inverse_deviation;
            grad_x[c] = g;
            grad_y[c] = g * factor[c];
        }
    }
}
