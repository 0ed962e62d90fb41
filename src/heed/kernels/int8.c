/* Linear layers with 8-bit weights. A 32-bit sum of up to 66,000 products of 8-bit numbers is exact, so every kind of
   instruction gives the same result. */
#include "int8.h"
#include <math.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum {
    PANEL = 64,       /* columns */
    GROUP = 4,        /* adjacent rows of a column */
    MAX_CODE = 127,
    ENOUGH = 700 * 1000, /* multiplications: below, to share them takes longer than to compute them */
    ZERO_POINT = 128, /* added to the codes of weights: the instructions need one unsigned operand */
};
static const float TINY = 1e-30f; /* for a row's largest number: anything smaller would make MAX_CODE / x overflow */

/* Each kind of instruction keeps the sums of WIDTH columns in a register. VECTORS x ROWS such registers are used at a
   time, as many as there are. `dot` adds the products of a group of weights with a group of x. */
#if defined __AVX512VNNI__
enum { WIDTH = 16, VECTORS = 4, ROWS = 6 };
typedef int8_t Code;
typedef __m512i Sums;
INLINE Sums zeros(void) { return _mm512_setzero_si512(); }
INLINE Sums load_weights(const uint8_t *codes) { return _mm512_loadu_si512(codes); }
INLINE Sums broadcast(const Code *x) {
    int32_t group;
    memcpy(&group, x, sizeof group);
    return _mm512_set1_epi32(group);
}
INLINE Sums dot(Sums sums, Sums weights, Sums x) { return _mm512_dpbusd_epi32(sums, weights, x); }
INLINE void store(int32_t *out, Sums sums) { _mm512_storeu_si512(out, sums); }
#elif defined __AVXVNNI__
enum { WIDTH = 8, VECTORS = 2, ROWS = 6 };
typedef int8_t Code;
typedef __m256i Sums;
INLINE Sums zeros(void) { return _mm256_setzero_si256(); }
INLINE Sums load_weights(const uint8_t *codes) { return _mm256_loadu_si256((const Sums *)codes); }
INLINE Sums broadcast(const Code *x) {
    int32_t group;
    memcpy(&group, x, sizeof group);
    return _mm256_set1_epi32(group);
}
INLINE Sums dot(Sums sums, Sums weights, Sums x) { return _mm256_dpbusd_avx_epi32(sums, weights, x); }
INLINE void store(int32_t *out, Sums sums) { _mm256_storeu_si256((Sums *)out, sums); }
#elif defined __AVX2__ /* sums of 8-bit products would overflow 16 bits: multiply 16 by 16 bits, two sums per column */
enum { WIDTH = 4, VECTORS = 2, ROWS = 4 };
typedef int16_t Code;
typedef __m256i Sums;
INLINE Sums zeros(void) { return _mm256_setzero_si256(); }
INLINE Sums load_weights(const uint8_t *codes) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)codes));
}
INLINE Sums broadcast(const Code *x) {
    int64_t group;
    memcpy(&group, x, sizeof group);
    return _mm256_set1_epi64x(group);
}
INLINE Sums dot(Sums sums, Sums weights, Sums x) { return _mm256_add_epi32(sums, _mm256_madd_epi16(weights, x)); }
INLINE void store(int32_t *out, Sums sums) {
    const Sums twice = _mm256_hadd_epi32(sums, sums);
    _mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(_mm256_permute4x64_epi64(twice, 8)));
}
#else /* each product fits 16 bits; group sums per column */
enum { WIDTH = 4, VECTORS = 1, ROWS = 2 };
typedef int16_t Code;
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef int16_t Codes __attribute__((vector_size(32)));
typedef int32_t Sums __attribute__((vector_size(64)));
INLINE Sums zeros(void) { return (Sums){0}; }
INLINE Codes load_weights(const uint8_t *codes) {
    Bytes bytes;
    memcpy(&bytes, codes, sizeof bytes);
    return __builtin_convertvector(bytes, Codes);
}
INLINE Codes broadcast(const Code *x) {
    return (Codes){x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]};
}
INLINE Sums dot(Sums sums, Codes weights, Codes x) { return sums + __builtin_convertvector(weights * x, Sums); }
INLINE void store(int32_t *out, Sums sums) {
    for (int c = 0; c < WIDTH; c++) out[c] = sums[4 * c] + sums[4 * c + 1] + sums[4 * c + 2] + sums[4 * c + 3];
}
#endif

/* Multiply `rows` rows of x, which must be a constant, by a panel of the weight. */
INLINE void multiply(const Code *x, long groups, const uint8_t *panel, int rows, int32_t sums[ROWS][PANEL]) {
    for (int begin = 0; begin < PANEL; begin += VECTORS * WIDTH) {
        Sums totals[ROWS][VECTORS];
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < VECTORS; v++) totals[r][v] = zeros();
        for (long group = 0; group < groups; group++) {
            const uint8_t *weights = panel + (group * PANEL + begin) * GROUP;
            for (int r = 0; r < rows; r++) {
                const Code *x_group = x + (r * groups + group) * GROUP;
                for (int v = 0; v < VECTORS; v++)
                    totals[r][v] = dot(totals[r][v], load_weights(weights + v * WIDTH * GROUP), broadcast(x_group));
            }
        }
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < VECTORS; v++) store(sums[r] + begin + v * WIDTH, totals[r][v]);
    }
}

/* Quantise one row, padded with zeros to `padded` codes, and return its scale. `offset` is what ZERO_POINT adds to each
   of its sums. */
static float quantize(const float *x, Code *codes, long in, long padded, int32_t *offset) {
    int32_t highest = 0, sum = 0; /* absolute values compare like their bits */
    for (long i = 0; i < in; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= INT32_MAX;
        highest = bits > highest ? bits : highest;
    }
    float largest;
    memcpy(&largest, &highest, sizeof largest);
    if (!(largest < INFINITY)) { /* inf or NaN: the whole row becomes NaN */
        memset(codes, 0, padded * sizeof *codes);
        *offset = 0;
        return NAN;
    }
    if (largest < TINY) largest = TINY;
    const float scale = MAX_CODE / largest;
    for (long i = 0; i < in; i++) {
        const int32_t code = (int32_t)rintf(x[i] * scale);
        codes[i] = (Code)code;
        sum += code;
    }
    for (long i = in; i < padded; i++) codes[i] = 0;
    *offset = ZERO_POINT * sum;
    return largest / MAX_CODE;
}

typedef struct {
    const Code *codes; /* and, for each row of x, its scale and offset */
    const float *scales;
    const int32_t *offsets;
    const Int8Weight *weight;
    const float *bias;
    float *y;
    long rows, groups, out;
} Product;

/* Multiply all rows of x by a panel of the weight. */
static void multiply_panel(const void *product, long number) {
    const Product p = *(const Product *)product;
    const long begin = number * PANEL, n = p.out - begin < PANEL ? p.out - begin : PANEL;
    const uint8_t *panel = p.weight->codes + begin * p.groups * GROUP;
    const float *column_scales = p.weight->scales + begin;
    for (long first = 0; first < p.rows; first += ROWS) {
        const int n_rows = p.rows - first < ROWS ? (int)(p.rows - first) : ROWS;
        const Code *block = p.codes + first * p.groups * GROUP;
        int32_t sums[ROWS][PANEL];
        switch (n_rows) { /* each case has a constant, so that its sums stay in registers */
        case 1: multiply(block, p.groups, panel, 1, sums); break;
        case 2: multiply(block, p.groups, panel, 2, sums); break;
        case 3: multiply(block, p.groups, panel, 3 < ROWS ? 3 : ROWS, sums); break;
        case 4: multiply(block, p.groups, panel, 4 < ROWS ? 4 : ROWS, sums); break;
        case 5: multiply(block, p.groups, panel, 5 < ROWS ? 5 : ROWS, sums); break;
        case 6: multiply(block, p.groups, panel, 6 < ROWS ? 6 : ROWS, sums); break;
        }
        for (int r = 0; r < n_rows; r++) {
            float *row = p.y + (first + r) * p.out + begin;
            const float scale = p.scales[first + r];
            const int32_t offset = p.offsets[first + r];
            if (p.bias)
                for (long c = 0; c < n; c++)
                    row[c] = (float)(sums[r][c] - offset) * (scale * column_scales[c]) + p.bias[begin + c];
            else
                for (long c = 0; c < n; c++) row[c] = (float)(sums[r][c] - offset) * (scale * column_scales[c]);
        }
    }
}

void heed_int8_linear(
    Team *team, const float *x, const Int8Weight *weight, const float *bias, float *y, long rows, long in, long out,
    float *scratch) {
    const long groups = (in + GROUP - 1) / GROUP;
    float *scales = scratch;
    int32_t *offsets = (int32_t *)(scales + rows);
    Code *codes = (Code *)(offsets + rows);
    for (long r = 0; r < rows; r++)
        scales[r] = quantize(x + r * in, codes + r * groups * GROUP, in, groups * GROUP, offsets + r);
    const Product product = {codes, scales, offsets, weight, bias, y, rows, groups, out};
    heed_team_share(rows * in * out < ENOUGH ? 0 : team, (out + PANEL - 1) / PANEL, multiply_panel, &product);
}
