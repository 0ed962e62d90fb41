/* Matrix products in bfloat16: C = A B, with the numbers of A and B rounded to 16 bits and sums in 32. Here with the
   instructions of AVX512-BF16; bf16_tiles.c has the same product with tiles. Both read the same packed B. */
#include "bf16_pairs.h"

/* Which instructions the processor claims to have: AMX, AVX512-BF16. Some virtual machines claim what does not work. */
void heed_bf16_ways(int *claimed) {
#ifdef __AVX512BF16__
    claimed[0] = heed_bf16_tiles_offered();
    claimed[1] = 1;
#else
    claimed[0] = claimed[1] = 0;
#endif
}

static long way = 1; /* tiles are used only if asked for: they must be tried first */

void heed_bf16_use(long wanted) {
    if (wanted == 0) heed_bf16_tiles_offered(); /* a process that has not asked for tiles faults */
    way = wanted;
}

#ifdef __AVX512BF16__
/* A is row by row or, if it was transposed, in blocks of 6 rows, pair by pair. */
enum { VECTORS = 4, COLUMNS = WIDTH * VECTORS, ROWS = 6, LINES = 4 };

/* Pack B (k x n); `transposed`: it is stored as n x k. */
void heed_bf16_pack(const float *b, long k, long n, long transposed, Pair *out) {
    const long pairs = packed_pairs(k), padded = (n + COLUMNS - 1) / COLUMNS * COLUMNS;
    for (long begin = 0; begin < padded; begin += PANEL, out += pairs * PANEL)
        if (!transposed)
            for (long p = 0; p < pairs; p++) {
                const float *even = b + 2 * p * n + begin;
                for (long c = 0; c < PANEL; c += WIDTH) {
                    const __mmask16 mask = first(n - begin - c), even_mask = 2 * p < k ? mask : 0;
                    const __mmask16 odd_mask = 2 * p + 1 < k ? mask : 0;
                    const __m512 odd = _mm512_maskz_loadu_ps(odd_mask, even + n + c);
                    _mm512_storeu_si512(
                        out + p * PANEL + c, pairs_of_rows(_mm512_maskz_loadu_ps(even_mask, even + c), odd));
                }
            }
        else
            for (long p = 0; p < pairs; p += WIDTH)
                for (long c = 0; c < PANEL; c += WIDTH) {
                    __m512i rows[WIDTH];
                    for (long r = 0; r < WIDTH; r++) {
                        const long column = begin + c + r;
                        rows[r] = pairs_in_row(b + column * k + 2 * p, column < n ? k - 2 * p : 0);
                    }
                    transpose(rows, out + p * PANEL + c, PANEL);
                }
}

/* Round `m` rows of A, which has `stride` numbers in a row; `transposed`: in a column, and packed in blocks of rows. */
static void round_a(const float *a, long stride, long m, long k, long transposed, Pair *out) {
    const long pairs = (k + 1) / 2;
    if (!transposed) {
        for (long r = 0; r < m; r++)
            for (long p = 0; p < pairs; p += WIDTH)
                _mm512_mask_storeu_epi32(
                    out + r * pairs + p, first(pairs - p), pairs_in_row(a + r * stride + 2 * p, k - 2 * p));
        return;
    }
    /* A few lines of A at a time, which stay in the cache from block to block: a power of two apart, they share a set. */
    for (long begin = 0; begin < pairs; begin += LINES)
        for (long r = 0; r < m; r += ROWS) {
            const __mmask16 mask = first(at_most(m - r, ROWS));
            for (long p = begin; p < pairs && p < begin + LINES; p++) {
                const float *even = a + 2 * p * stride + r;
                const __m512 odd = 2 * p + 1 < k ? _mm512_maskz_loadu_ps(mask, even + stride) : _mm512_setzero_ps();
                const __m512i both = pairs_of_rows(_mm512_maskz_loadu_ps(mask, even), odd);
                _mm512_mask_storeu_epi32(out + r * pairs + p * ROWS, first(ROWS), both);
            }
        }
}

/* Multiply `rows` rows of A, which must be a constant, by two panels of B. */
INLINE void multiply(
    const Pair *a, long row_stride, long pair_stride, const Pair *b, long panel, long pairs, int rows, float *c, long n,
    long columns, int accumulate) {
    __m512 sums[ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm512_setzero_ps();
    for (long p = 0; p < pairs; p++, b += PANEL) {
        const __m512bh two[VECTORS] = {
            (__m512bh)_mm512_loadu_si512(b), (__m512bh)_mm512_loadu_si512(b + WIDTH),
            (__m512bh)_mm512_loadu_si512(b + panel), (__m512bh)_mm512_loadu_si512(b + panel + WIDTH)};
        for (int r = 0; r < rows; r++) {
            const __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[r * row_stride + p * pair_stride]);
            for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], x, two[v]);
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

void heed_bf16_multiply(
    const float *a, long transposed, const Pair *b, float *c, long m, long k, long n, long accumulate, Pair *scratch) {
    if (way == 0) {
        heed_bf16_multiply_tiles(a, transposed, b, c, m, k, n, accumulate, scratch);
        return;
    }
    const long pairs = (k + 1) / 2, panel = packed_pairs(k) * PANEL;
    round_a(a, transposed ? m : k, m, k, transposed, scratch);
    const long row_stride = transposed ? 1 : pairs, pair_stride = transposed ? ROWS : 1;
    for (long begin = 0; begin < n; begin += COLUMNS, b += 2 * panel)
        for (long r = 0; r < m; r += ROWS) {
            const Pair *block = scratch + r * pairs;
            float *out = c + r * n + begin;
#define MULTIPLY(rows)                                                                                                 \
    multiply(block, row_stride, pair_stride, b, panel, pairs, rows, out, n, n - begin, (int)accumulate)
            switch (at_most(m - r, ROWS)) {
            case 1: MULTIPLY(1); break;
            case 2: MULTIPLY(2); break;
            case 3: MULTIPLY(3); break;
            case 4: MULTIPLY(4); break;
            case 5: MULTIPLY(5); break;
            default: MULTIPLY(6);
            }
        }
}
#else /* never called: see heed_bf16_ways */
void heed_bf16_pack(const float *b, long k, long n, long transposed, Pair *out) {
    (void)b, (void)k, (void)n, (void)transposed, (void)out;
}
void heed_bf16_multiply(
    const float *a, long transposed, const Pair *b, float *c, long m, long k, long n, long accumulate, Pair *scratch) {
    (void)a, (void)transposed, (void)b, (void)c, (void)m, (void)k, (void)n, (void)accumulate, (void)scratch;
    (void)way;
}
#endif
