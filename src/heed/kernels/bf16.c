/* Matrix products in bfloat16: C = A B, with the numbers of A and B rounded to 16 bits and sums in 32.

   An instruction multiplies pairs: it adds a[k] b[k] + a[k + 1] b[k + 1] to each of 16 sums. So rounded matrices consist
   of pairs of numbers that are adjacent in k, and an odd K is padded with a zero. B is packed in panels of 64 columns,
   pair by pair; A is row by row or, if it was transposed, in blocks of 6 rows, pair by pair. */
#include <stdint.h>
#include <string.h>

void heed_bf16_available(int *yes) {
#ifdef __AVX512BF16__
    *yes = 1;
#else
    *yes = 0;
#endif
}

#ifdef __AVX512BF16__
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

enum { WIDTH = 16, VECTORS = 4, PANEL = WIDTH * VECTORS, ROWS = 6, TILE = 4 };
typedef uint32_t Pair;

INLINE __mmask16 first(long n) { return n >= WIDTH ? 0xFFFF : (__mmask16)((1u << (n < 0 ? 0 : n)) - 1); }

/* Pairs of two rows: the numbers of `even` and `odd` in turn. */
INLINE __m512i pairs_of_rows(__m512 even, __m512 odd) {
    const __m512i order = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
        16, 0);
    return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* Round `k` numbers of a row to pairs. */
INLINE void round_row(const float *x, long k, Pair *out) {
    long i = 0;
    for (; i + 2 * WIDTH <= k; i += 2 * WIDTH)
        _mm512_storeu_si512(
            out + i / 2, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + WIDTH), _mm512_loadu_ps(x + i)));
    if (i < k) {
        const __m512 low = _mm512_maskz_loadu_ps(first(k - i), x + i);
        const __m512 high = _mm512_maskz_loadu_ps(first(k - i - WIDTH), x + i + WIDTH);
        _mm512_mask_storeu_epi32(out + i / 2, first((k - i + 1) / 2), (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
}

/* Transpose 16 x 16 pairs. */
INLINE void transpose(const Pair *in, long in_stride, Pair *out, long out_stride) {
    __m512i a[WIDTH], b[WIDTH];
    for (int i = 0; i < WIDTH; i++) a[i] = _mm512_loadu_si512(in + i * in_stride);
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

/* Pack B (k x n) into panels; `transposed`: it is stored as n x k. `out` has room for k/2 x n pairs, both rounded up. */
void heed_bf16_pack(const float *b, long k, long n, long transposed, Pair *out) {
    const long pairs = (k + 1) / 2;
    for (long begin = 0; begin < n; begin += PANEL, out += pairs * PANEL) {
        const long columns = n - begin < PANEL ? n - begin : PANEL;
        if (!transposed)
            for (long p = 0; p < pairs; p++) {
                const float *even = b + 2 * p * n + begin;
                for (long c = 0; c < PANEL; c += WIDTH) {
                    const __mmask16 mask = first(columns - c);
                    const __m512 odd = 2 * p + 1 < k ? _mm512_maskz_loadu_ps(mask, even + n + c) : _mm512_setzero_ps();
                    _mm512_storeu_si512(
                        out + p * PANEL + c, pairs_of_rows(_mm512_maskz_loadu_ps(mask, even + c), odd));
                }
            }
        else
            for (long p = 0; p < pairs; p += WIDTH)
                for (long c = 0; c < PANEL; c += WIDTH) {
                    Pair rows[WIDTH][WIDTH] = {{0}}, turned[WIDTH][WIDTH];
                    const long numbers = k - 2 * p < 2 * WIDTH ? k - 2 * p : 2 * WIDTH;
                    for (long r = 0; r < WIDTH && c + r < columns; r++)
                        round_row(b + (begin + c + r) * k + 2 * p, numbers, rows[r]);
                    transpose(rows[0], WIDTH, turned[0], WIDTH);
                    for (long i = 0; i < WIDTH && p + i < pairs; i++)
                        _mm512_storeu_si512(out + (p + i) * PANEL + c, _mm512_loadu_si512(turned[i]));
                }
    }
}

/* Round A (m x k); `transposed`: it is stored as k x m, and is packed in blocks of rows. */
static void round_a(const float *a, long m, long k, long transposed, Pair *out) {
    const long pairs = (k + 1) / 2;
    if (!transposed) {
        for (long r = 0; r < m; r++) round_row(a + r * k, k, out + r * pairs);
        return;
    }
    /* A few lines of A at a time, which stay in the cache from block to block: a power of two apart, they share a set. */
    for (long begin = 0; begin < pairs; begin += TILE)
        for (long r = 0; r < m; r += ROWS) {
            const __mmask16 mask = first(m - r < ROWS ? m - r : ROWS);
            for (long p = begin; p < pairs && p < begin + TILE; p++) {
                const float *even = a + 2 * p * m + r;
                const __m512 odd = 2 * p + 1 < k ? _mm512_maskz_loadu_ps(mask, even + m) : _mm512_setzero_ps();
                const __m512i both = pairs_of_rows(_mm512_maskz_loadu_ps(mask, even), odd);
                _mm512_mask_storeu_epi32(out + r * pairs + p * ROWS, first(ROWS), both);
            }
        }
}

/* Multiply `rows` rows of A, which must be a constant, by a panel of B. */
INLINE void multiply(
    const Pair *a, long row_stride, long pair_stride, const Pair *panel, long pairs, int rows, float *c, long n,
    long columns, int accumulate) {
    __m512 sums[ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm512_setzero_ps();
    for (long p = 0; p < pairs; p++, panel += PANEL) {
        __m512bh b[VECTORS];
        for (int v = 0; v < VECTORS; v++) b[v] = (__m512bh)_mm512_loadu_si512(panel + v * WIDTH);
        for (int r = 0; r < rows; r++) {
            const __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[r * row_stride + p * pair_stride]);
            for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], x, b[v]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) {
            float *out = c + r * n + v * WIDTH;
            const __mmask16 mask = first(columns - v * WIDTH);
            if (accumulate) sums[r][v] = _mm512_add_ps(sums[r][v], _mm512_maskz_loadu_ps(mask, out));
            _mm512_mask_storeu_ps(out, mask, sums[r][v]);
        }
}

/* C (m x n) = A (m x k) times packed B, added to C if `accumulate`. `scratch` has room for A: (m + 6) x k/2 pairs. */
void heed_bf16_multiply(
    const float *a, long transposed, const Pair *b, float *c, long m, long k, long n, long accumulate, Pair *scratch) {
    const long pairs = (k + 1) / 2;
    round_a(a, m, k, transposed, scratch);
    const long row_stride = transposed ? 1 : pairs, pair_stride = transposed ? ROWS : 1;
    for (long begin = 0; begin < n; begin += PANEL, b += pairs * PANEL) {
        const long columns = n - begin < PANEL ? n - begin : PANEL;
        for (long r = 0; r < m; r += ROWS) {
            const Pair *block = scratch + r * pairs;
            float *out = c + r * n + begin;
#define MULTIPLY(rows) multiply(block, row_stride, pair_stride, b, pairs, rows, out, n, columns, (int)accumulate)
            switch (m - r < ROWS ? m - r : ROWS) {
            case 1: MULTIPLY(1); break;
            case 2: MULTIPLY(2); break;
            case 3: MULTIPLY(3); break;
            case 4: MULTIPLY(4); break;
            case 5: MULTIPLY(5); break;
            default: MULTIPLY(6);
            }
        }
    }
}
#else /* never called: see heed_bf16_available */
void heed_bf16_pack(const float *b, long k, long n, long transposed, uint32_t *out) {
    (void)b, (void)k, (void)n, (void)transposed, (void)out;
}
void heed_bf16_multiply(
    const float *a, long transposed, const uint32_t *b, float *c, long m, long k, long n, long accumulate,
    uint32_t *scratch) {
    (void)a, (void)transposed, (void)b, (void)c, (void)m, (void)k, (void)n, (void)accumulate, (void)scratch;
}
#endif
