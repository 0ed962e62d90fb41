/* Dropout, the residual sum and layer normalization, fused; and their backward pass.

   No mask is stored. What is dropped is a function of the row's seed, the sub-layer (`site`) and the column, computed
   again in the backward pass. model/dropout.py computes the same masks in PyTorch: keep_mask. */
#include <math.h>
#include <stdint.h>

enum { LANES = 16, BLOCK = 2 * LANES, PIECE = 16 * BLOCK };

/* SplitMix64 (Steele, Lea, Flood 2014): the random number of a row at a site. */
static uint64_t seed_at(int64_t row_seed, long site) {
    uint64_t z = (uint64_t)row_seed + ((uint64_t)site + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* What elements begin ... begin + n of a row are multiplied by: 0 with probability dropped / 2^16, else `scale`.
   `begin` is a multiple of BLOCK, and `factor` has room for n rounded up to one. A 32-bit hash of the row's seed and a
   count (Wellons's lowbias32) decides on two elements, half a block apart: so all is plain vectors. */
static inline void factors(
    float *factor, uint64_t seed, long begin, long n, uint32_t dropped, float scale) {
    const uint32_t first = (uint32_t)seed + (uint32_t)(begin / 2), second = (uint32_t)(seed >> 32);
    for (long b = 0; b < n; b += BLOCK)
        for (uint32_t j = 0; j < LANES; j++) {
            uint32_t h = first + (uint32_t)(b / 2) + j;
            h = (h ^ (h >> 16)) * 0x21f0aaadu + second;
            h = (h ^ (h >> 15)) * 0xd35a2d97u;
            h ^= h >> 15;
            factor[b + j] = (h & 0xffff) >= dropped ? scale : 0;
            factor[b + LANES + j] = (h >> 16) >= dropped ? scale : 0;
        }
}

/* out_RD = x + Dropout(y), or Dropout(y) if there is no x. */
void heed_dropout_add(
    const float *x, const float *y, float *out, long rows, long d, const int64_t *seeds, long site, long dropped, float scale) {
    float factor[PIECE];
    for (long r = 0; r < rows; r++) {
        const uint64_t seed = seed_at(seeds[r], site);
        for (long begin = 0; begin < d; begin += PIECE) {
            const long n = d - begin < PIECE ? d - begin : PIECE;
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

/* out_RD = LayerNorm(x + Dropout(y)), and the mean and 1 / deviation of each row, for the backward pass. `factor` is room to
   work in, for d rounded up to a whole block. */
void heed_dropout_add_norm(
    const float *x, const float *y, const float *gain, const float *bias, float *out, float *means, float *scales,
    float *restrict factor, long rows, long d, float epsilon, const int64_t *seeds, long site, long dropped, float scale) {
    for (long r = 0; r < rows; r++, x += d, y += d, out += d) {
        factors(factor, seed_at(seeds[r], site), 0, d, (uint32_t)dropped, scale);
        float sum = 0, squares = 0;
        for (long c = 0; c < d; c++) {
            factor[c] = x[c] + y[c] * factor[c];
            sum += factor[c];
        }
        const float mean = sum / d;
        for (long c = 0; c < d; c++) squares += (factor[c] - mean) * (factor[c] - mean);
        const float to_one = 1 / sqrtf(squares / d + epsilon);
        for (long c = 0; c < d; c++) out[c] = (factor[c] - mean) * to_one * gain[c] + bias[c];
        means[r] = mean, scales[r] = to_one;
    }
}

/* The gradients of x, y, gain and bias, from that of the result. Those of gain and bias begin as zeros. `factor` is as
   above, and `normal` is room for a row. */
void heed_dropout_add_norm_back(
    const float *grad, const float *x, const float *y, const float *gain, const float *means, const float *scales,
    float *grad_x, float *grad_y, float *restrict grad_gain, float *restrict grad_bias, float *restrict factor,
    float *restrict normal, long rows, long d, const int64_t *seeds, long site, long dropped, float scale) {
    for (long r = 0; r < rows; r++, grad += d, x += d, y += d, grad_x += d, grad_y += d) {
        const float mean = means[r], to_one = scales[r];
        factors(factor, seed_at(seeds[r], site), 0, d, (uint32_t)dropped, scale);
        float sum = 0, along = 0;
        for (long c = 0; c < d; c++) {
            normal[c] = (x[c] + y[c] * factor[c] - mean) * to_one;
            sum += grad[c] * gain[c];
            along += grad[c] * gain[c] * normal[c];
            grad_gain[c] += grad[c] * normal[c];
            grad_bias[c] += grad[c];
        }
        /* The norm takes away what would move the mean, and what would move the deviation. */
        sum /= d, along /= d;
        for (long c = 0; c < d; c++) {
            const float g = (grad[c] * gain[c] - sum - normal[c] * along) * to_one;
            grad_x[c] = g;
            grad_y[c] = g * factor[c];
        }
    }
}
