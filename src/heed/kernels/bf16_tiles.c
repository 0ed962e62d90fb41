/* Products in bfloat16 with tiles (AMX): 16 rows of A times 16 columns of B, 32 numbers in k at a time.

   Four tiles have the sums of 32 x 32 numbers of C, so each tile of A and of B that is loaded serves two products. Sums
   are in the order of k whatever the blocks: they start from zero, or from what C holds. */
#define _DEFAULT_SOURCE /* syscall */
#include "bf16_pairs.h"

#ifdef __AVX512BF16__ /* every processor with tiles has it, and it rounds */
#ifdef TILES_HEADER /* tests emulate tiles */
#include TILES_HEADER
#else
#include "tiles.h"
#endif
#endif

#ifdef HAS_TILES
#include <string.h>

/* Numbers of A in a block, which stays in the second-level cache while all of B passes; numbers in k at a time. */
enum { BLOCK = 512 * 1024, DEPTH = 1024, TILE = WIDTH * WIDTH, SIDE = 2 * WIDTH, STEP = 2 * WIDTH };

int heed_bf16_tiles_offered(void) { return tiles_offered(); }

/* Round m x k numbers of A to tiles, one after the other in k; rows and columns of tiles that are not in A are zero. `a`
   has `stride` numbers in a row; `transposed`: in a column. */
static void round_to_tiles(const float *a, long stride, long m, long k, long transposed, Pair *out) {
    const long steps = (k + STEP - 1) / STEP, padded = (m + SIDE - 1) / SIDE * SIDE;
    if (!transposed) {
        for (long r = 0; r < padded; r++)
            for (long s = 0; s < steps; s++)
                _mm512_storeu_si512(
                    out + (r / WIDTH * steps + s) * TILE + r % WIDTH * WIDTH,
                    pairs_in_row(a + r * stride + s * STEP, r < m ? k - s * STEP : 0));
        return;
    }
    for (long s = 0; s < steps; s++)
        for (long r = 0; r < padded; r += WIDTH) {
            const __mmask16 mask = first(m - r);
            __m512i columns[WIDTH];
            for (long p = 0; p < WIDTH; p++) {
                const long even = s * STEP + 2 * p;
                const float *x = a + even * stride + r;
                columns[p] = pairs_of_rows(
                    _mm512_maskz_loadu_ps(even < k ? mask : 0, x),
                    _mm512_maskz_loadu_ps(even + 1 < k ? mask : 0, x + stride));
            }
            transpose(columns, out + (r / WIDTH * steps + s) * TILE, WIDTH);
        }
}

/* Multiply 32 rows of A, or 16 if they are `few`, by a panel of B; `add`: to what C holds. */
WITH_TILES static void multiply(const Pair *a, const Pair *b, long steps, int add, float *c, long c_stride, int few) {
    const long line = WIDTH * sizeof(Pair), stride = c_stride * (long)sizeof(float);
    float *below = c + WIDTH * c_stride;
    if (add) {
        tile_load(0, c, stride);
        tile_load(1, c + WIDTH, stride);
        if (!few) {
            tile_load(2, below, stride);
            tile_load(3, below + WIDTH, stride);
        }
    } else {
        tile_zero(0);
        tile_zero(1);
        tile_zero(2);
        tile_zero(3);
    }
    for (long s = 0; s < steps; s++, a += TILE, b += WIDTH * PANEL) {
        /* The first steps fetch the lines of C that the last will write. */
        for (long r = 4 * s; r < 4 * s + 4 && r < SIDE; r++) {
            __builtin_prefetch(c + r * c_stride, 1);
            __builtin_prefetch(c + r * c_stride + WIDTH, 1);
        }
        tile_load(4, a, line);
        tile_load(6, b, 2 * line);
        tile_multiply(0, 4, 6);
        tile_load(7, b + WIDTH, 2 * line);
        tile_multiply(1, 4, 7);
        if (few) continue;
        tile_load(5, a + steps * TILE, line);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
    }
    tile_store(0, c, stride);
    tile_store(1, c + WIDTH, stride);
    if (few) return;
    tile_store(2, below, stride);
    tile_store(3, below + WIDTH, stride);
}

/* The same at the edge of C: only `rows` x `columns` numbers of C exist. */
WITH_TILES static void multiply_edge(
    const Pair *a, const Pair *b, long steps, int add, float *c, long c_stride, long rows, long columns) {
    float whole[SIDE][PANEL] = {{0}};
    const size_t bytes = (size_t)columns * sizeof(float);
    for (long r = 0; add && r < rows; r++) memcpy(whole[r], c + r * c_stride, bytes);
    multiply(a, b, steps, add, whole[0], PANEL, rows <= WIDTH);
    for (long r = 0; r < rows; r++) memcpy(c + r * c_stride, whole[r], bytes);
}

WITH_TILES void heed_bf16_multiply_tiles(
    const float *a, long transposed, const Pair *b, float *c, long m, long k, long n, long accumulate, Pair *scratch) {
    const long panel = packed_pairs(k) * PANEL;
    tiles_configure();
    for (long deep = 0; deep == 0 || deep < k; deep += DEPTH) {
        const long depth = at_most(k - deep, DEPTH), steps = (depth + STEP - 1) / STEP;
        const long block = BLOCK / (steps ? steps * STEP : STEP) / SIDE * SIDE;
        const int add = accumulate || deep;
        for (long top = 0; top < m; top += block) {
            const long rows = at_most(m - top, block);
            const float *corner = transposed ? a + deep * m + top : a + top * k + deep;
            round_to_tiles(corner, transposed ? m : k, rows, depth, transposed, scratch);
            for (long left = 0; left < n; left += PANEL)
                for (long r = 0; r < rows; r += SIDE) {
                    const Pair *from_a = scratch + r * steps * WIDTH, *from_b = b + left / PANEL * panel + deep / 2 * PANEL;
                    float *out = c + (top + r) * n + left;
                    if (rows - r >= SIDE && n - left >= PANEL)
                        multiply(from_a, from_b, steps, add, out, n, 0);
                    else
                        multiply_edge(
                            from_a, from_b, steps, add, out, n, at_most(rows - r, SIDE), at_most(n - left, PANEL));
                }
        }
    }
    tiles_release();
}
#else
int heed_bf16_tiles_offered(void) { return 0; }
void heed_bf16_multiply_tiles(
    const float *a, long transposed, const Pair *b, float *c, long m, long k, long n, long accumulate, Pair *scratch) {
    (void)a, (void)transposed, (void)b, (void)c, (void)m, (void)k, (void)n, (void)accumulate, (void)scratch;
}
#endif
