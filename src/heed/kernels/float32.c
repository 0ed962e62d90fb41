/* Linear layers with float32 weights that are packed once. Any number of rows of x gives the same result for each. */
#include "float32.h"
#include "vector_width.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* The sums of ROWS x VECTORS vectors are kept in registers, as many as there are. */
#ifdef __AVX512F__
enum { PANEL = 64, VECTORS = 4, ROWS = 6 };
#else
enum { PANEL = 64, VECTORS = 2, ROWS = 4 };
#endif
typedef float Vector __attribute__((vector_size(VECTOR_WIDTH * sizeof(float)), aligned(sizeof(float)), may_alias));

/* Multiply `rows` rows of x, which must be a constant, by a panel of the weight. */
INLINE void multiply(const float *x, long in, const float *panel, int rows, float out[ROWS][PANEL]) {
    for (int begin = 0; begin < PANEL; begin += VECTORS * VECTOR_WIDTH) {
        Vector sums[ROWS][VECTORS];
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < VECTORS; v++) sums[r][v] = (Vector){0};
        for (long i = 0; i < in; i++) {
            const Vector *weights = (const Vector *)(panel + i * PANEL + begin);
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < VECTORS; v++) sums[r][v] += x[r * in + i] * weights[v];
        }
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < VECTORS; v++) *(Vector *)(out[r] + begin + v * VECTOR_WIDTH) = sums[r][v];
    }
}

enum { ENOUGH = 100 * 1000 }; /* multiplications: below, to share them takes longer than to compute them */

typedef struct {
    const float *x, *weight;
    float *y;
    long rows, in, out;
} Product;

/* Multiply all rows of x by a panel of the weight. */
static void multiply_panel(const void *product, long number) {
    const Product p = *(const Product *)product;
    const long begin = number * PANEL, n = p.out - begin < PANEL ? p.out - begin : PANEL;
    const float *panel = p.weight + begin * p.in;
    for (long first = 0; first < p.rows; first += ROWS) {
        const int n_rows = p.rows - first < ROWS ? (int)(p.rows - first) : ROWS;
        const float *block = p.x + first * p.in;
        float sums[ROWS][PANEL];
        switch (n_rows) { /* each case has a constant, so that its sums stay in registers */
        case 1: multiply(block, p.in, panel, 1, sums); break;
        case 2: multiply(block, p.in, panel, 2, sums); break;
        case 3: multiply(block, p.in, panel, 3, sums); break;
        case 4: multiply(block, p.in, panel, 4, sums); break;
        case 5: multiply(block, p.in, panel, 5 < ROWS ? 5 : ROWS, sums); break;
        case 6: multiply(block, p.in, panel, 6 < ROWS ? 6 : ROWS, sums); break;
        }
        for (int r = 0; r < n_rows; r++) memcpy(p.y + (first + r) * p.out + begin, sums[r], n * sizeof(float));
    }
}

void heed_float32_linear(Team *team, const float *x, const float *weight, float *y, long rows, long in, long out) {
    const Product product = {x, weight, y, rows, in, out};
    heed_team_share(rows * in * out < ENOUGH ? 0 : team, (out + PANEL - 1) / PANEL, multiply_panel, &product);
}
