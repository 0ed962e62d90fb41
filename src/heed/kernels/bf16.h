/* Products in bfloat16. Only processors with AVX512-BF16 have them: see heed_bf16_ways. */
#pragma once
#include <stdint.h>

typedef uint32_t Pair; /* two numbers in bfloat16 */

/* C (m x n) = A (m x k) times packed B, added to C if `accumulate`. A is stored as k x m if `transposed`. Any number of
   rows gives the same result for each. `scratch` holds (m + 32) x k/2 pairs, k rounded up to a multiple of 32. */
void heed_bf16_multiply(
    const float *a, long transposed, const Pair *b, float *c, long m, long k, long n, long accumulate, Pair *scratch);
