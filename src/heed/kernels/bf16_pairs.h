/* Rounding to bfloat16, for products C = A B whose sums have 32 bits.

   The instructions multiply pairs: they add a[k] b[k] + a[k + 1] b[k + 1] to a sum. So rounded matrices consist of pairs
   of numbers that are adjacent in k. B is packed in panels of 32 columns, pair by pair; an even number of panels, each
   with a multiple of 16 pairs, padded with zeros. */
#pragma once
#include "bf16.h"

/* Whether there is code that multiplies with tiles (AMX), and the processor and the kernel of the system offer them.
   The kernel offers them only to a process that has asked, which this does. */
int heed_bf16_tiles_offered(void);

/* heed_bf16_multiply with tiles. */
void heed_bf16_multiply_tiles(
    const float *a, long transposed, const Pair *b, float *c, long m, long k, long n, long accumulate, Pair *scratch);

#ifdef __AVX512BF16__
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

enum { WIDTH = 16, PANEL = 2 * WIDTH };

INLINE long at_most(long n, long limit) { return n < limit ? n : limit; }

/* The pairs of a column of packed B. */
INLINE long packed_pairs(long k) { return (k + 2 * WIDTH - 1) / (2 * WIDTH) * WIDTH; }

INLINE __mmask16 first(long n) { return n >= WIDTH ? 0xFFFF : (__mmask16)((1u << (n < 0 ? 0 : n)) - 1); }

/* Pairs of two rows: the numbers of `even` and `odd` in turn. */
INLINE __m512i pairs_of_rows(__m512 even, __m512 odd) {
    const __m512i order = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
        16, 0);
    return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* Pairs of `n` numbers that are adjacent in a row, padded with zeros to 16 pairs. */
INLINE __m512i pairs_in_row(const float *x, long n) {
    const __m512 low = _mm512_maskz_loadu_ps(first(n), x), high = _mm512_maskz_loadu_ps(first(n - WIDTH), x + WIDTH);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* Transpose 16 x 16 pairs. */
INLINE void transpose(__m512i a[WIDTH], Pair *out, long out_stride) {
    __m512i b[WIDTH];
    for (int i = 0; i < WIDTH; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    for (int i = 0; i < WIDTH; i += 4)
        for (int j = 0; j < 2; j++) {
            a[i + 2 * j] = _mm512_unpacklo_epi64(b[i + j], b[i + j + 2]);
            a[i + 2 * j + 1] = _mm512_unpackhi_epi64(b[i + j], b[i + j + 2]);
        }
    /* Now a[4 i + j] has, in each of its four parts p, column 4 p + j of rows 4 i to 4 i + 3. */
    for (int j = 0; j < 4; j++) {
        const __m512i low02 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0x88), low13 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0xDD);
        const __m512i high02 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0x88);
        const __m512i high13 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0xDD);
        _mm512_storeu_si512(out + j * out_stride, _mm512_shuffle_i32x4(low02, high02, 0x88));
        _mm512_storeu_si512(out + (8 + j) * out_stride, _mm512_shuffle_i32x4(low02, high02, 0xDD));
        _mm512_storeu_si512(out + (4 + j) * out_stride, _mm512_shuffle_i32x4(low13, high13, 0x88));
        _mm512_storeu_si512(out + (12 + j) * out_stride, _mm512_shuffle_i32x4(low13, high13, 0xDD));
    }
}
#endif
