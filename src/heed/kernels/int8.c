/* Sums of products of 8 bits are exact in 32, up to 66,000 of them: the same integers, whatever the instructions. */
#include "int8.h"
#include <math.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum {
    PANEL = 64, /* columns */
    MOST = 127, /* steps on either side of zero */
    ZERO = 128, /* what is added to a weight's steps: instructions want numbers without sign on one side */
};
static const float LEAST = 1e-30f; /* a row's largest number; below, MOST / it were infinite */

/* Each kind of instruction has sums of WIDTH columns in a register, VECTORS of them for each of up to ROWS rows at a
   time: as many as there are registers for. `dot` adds the products of four rows of the weight and four numbers of x. */
#if defined __AVX512VNNI__
enum { WIDTH = 16, VECTORS = 4, ROWS = 6 };
typedef int8_t Step;
typedef __m512i Sums;
INLINE Sums none(void) { return _mm512_setzero_si512(); }
INLINE Sums weights_at(const uint8_t *steps) { return _mm512_loadu_si512(steps); }
INLINE Sums spread(const Step *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm512_set1_epi32(four);
}
INLINE Sums dot(Sums sums, Sums weights, Sums x) { return _mm512_dpbusd_epi32(sums, weights, x); }
INLINE void put(int32_t *place, Sums sums) { _mm512_storeu_si512(place, sums); }
#elif defined __AVXVNNI__
enum { WIDTH = 8, VECTORS = 2, ROWS = 6 };
typedef int8_t Step;
typedef __m256i Sums;
INLINE Sums none(void) { return _mm256_setzero_si256(); }
INLINE Sums weights_at(const uint8_t *steps) { return _mm256_loadu_si256((const Sums *)steps); }
INLINE Sums spread(const Step *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm256_set1_epi32(four);
}
INLINE Sums dot(Sums sums, Sums weights, Sums x) { return _mm256_dpbusd_avx_epi32(sums, weights, x); }
INLINE void put(int32_t *place, Sums sums) { _mm256_storeu_si256((Sums *)place, sums); }
#elif defined __AVX2__ /* products of 8 bits would overflow their 16; so 16 bits times 16, two sums for each column */
enum { WIDTH = 4, VECTORS = 2, ROWS = 4 };
typedef int16_t Step;
typedef __m256i Sums;
INLINE Sums none(void) { return _mm256_setzero_si256(); }
INLINE Sums weights_at(const uint8_t *steps) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)steps));
}
INLINE Sums spread(const Step *x) {
    int64_t four;
    memcpy(&four, x, sizeof four);
    return _mm256_set1_epi64x(four);
}
INLINE Sums dot(Sums sums, Sums weights, Sums x) { return _mm256_add_epi32(sums, _mm256_madd_epi16(weights, x)); }
INLINE void put(int32_t *place, Sums sums) {
    const Sums twice = _mm256_hadd_epi32(sums, sums);
    _mm_storeu_si128((__m128i *)place, _mm256_castsi256_si128(_mm256_permute4x64_epi64(twice, 8)));
}
#else /* products fit 16 bits; four sums for each column */
enum { WIDTH = 4, VECTORS = 1, ROWS = 2 };
typedef int16_t Step;
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef int16_t Steps __attribute__((vector_size(32)));
typedef int32_t Sums __attribute__((vector_size(64)));
INLINE Sums none(void) { return (Sums){0}; }
INLINE Steps weights_at(const uint8_t *steps) {
    Bytes bytes;
    memcpy(&bytes, steps, sizeof bytes);
    return __builtin_convertvector(bytes, Steps);
}
INLINE Steps spread(const Step *x) {
    return (Steps){x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]};
}
INLINE Sums dot(Sums sums, Steps weights, Steps x) { return sums + __builtin_convertvector(weights * x, Sums); }
INLINE void put(int32_t *place, Sums sums) {
    for (int c = 0; c < WIDTH; c++) place[c] = sums[4 * c] + sums[4 * c + 1] + sums[4 * c + 2] + sums[4 * c + 3];
}
#endif

/* The sums of a panel's columns, of so many rows of x. */
INLINE void sums_of(const Step *x, long fours, const uint8_t *panel, int rows, int32_t sums[ROWS][PANEL]) {
    for (int begin = 0; begin < PANEL; begin += VECTORS * WIDTH) {
        Sums found[ROWS][VECTORS];
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < VECTORS; v++) found[r][v] = none();
        for (long four = 0; four < fours; four++) {
            const uint8_t *steps = panel + (four * PANEL + begin) * 4;
            for (int r = 0; r < rows; r++) {
                const Step *numbers = x + (r * fours + four) * 4;
                for (int v = 0; v < VECTORS; v++)
                    found[r][v] = dot(found[r][v], weights_at(steps + v * WIDTH * 4), spread(numbers));
            }
        }
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < VECTORS; v++) put(sums[r] + begin + v * WIDTH, found[r][v]);
    }
}

/* One row in steps, filled up with zeros; returns the size of a step, and by how much ZERO moves every sum. */
static float rounded(const float *x, Step *steps, long in, long whole, int32_t *excess) {
    int32_t highest = 0, sum = 0; /* numbers without sign are in order as their bits are */
    for (long i = 0; i < in; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= INT32_MAX;
        highest = bits > highest ? bits : highest;
    }
    float largest;
    memcpy(&largest, &highest, sizeof largest);
    if (!(largest < INFINITY)) { /* what is not a number makes the whole row so */
        memset(steps, 0, whole * sizeof *steps);
        *excess = 0;
        return NAN;
    }
    if (largest < LEAST) largest = LEAST;
    const float scale = MOST / largest;
    for (long i = 0; i < in; i++) {
        const int32_t step = (int32_t)rintf(x[i] * scale);
        steps[i] = (Step)step;
        sum += step;
    }
    for (long i = in; i < whole; i++) steps[i] = 0;
    *excess = ZERO * sum;
    return largest / MOST;
}

void heed_int8_product(
    const float *x, const Int8Weight *weight, const float *bias, float *y, long rows, long in, long out, float *room) {
    const long fours = (in + 3) / 4;
    float *scales = room;
    int32_t *excess = (int32_t *)(scales + rows);
    Step *steps = (Step *)(excess + rows);
    for (long r = 0; r < rows; r++)
        scales[r] = rounded(x + r * in, steps + r * fours * 4, in, fours * 4, excess + r);
    for (long begin = 0; begin < out; begin += PANEL) {
        const uint8_t *panel = weight->steps + begin * fours * 4;
        const float *column_scales = weight->scales + begin;
        const long n = out - begin < PANEL ? out - begin : PANEL;
        for (long first = 0; first < rows; first += ROWS) {
            const int several = rows - first < ROWS ? (int)(rows - first) : ROWS;
            const Step *those = steps + first * fours * 4;
            int32_t sums[ROWS][PANEL];
            switch (several) { /* a number known to the compiler */
            case 1: sums_of(those, fours, panel, 1, sums); break;
            case 2: sums_of(those, fours, panel, 2, sums); break;
            case 3: sums_of(those, fours, panel, 3 < ROWS ? 3 : ROWS, sums); break;
            case 4: sums_of(those, fours, panel, 4 < ROWS ? 4 : ROWS, sums); break;
            case 5: sums_of(those, fours, panel, 5 < ROWS ? 5 : ROWS, sums); break;
            case 6: sums_of(those, fours, panel, 6 < ROWS ? 6 : ROWS, sums); break;
            }
            for (int r = 0; r < several; r++) {
                float *row = y + (first + r) * out + begin;
                const float scale = scales[first + r];
                const int32_t less = excess[first + r];
                if (bias)
                    for (long c = 0; c < n; c++)
                        row[c] = (float)(sums[r][c] - less) * (scale * column_scales[c]) + bias[begin + c];
                else
                    for (long c = 0; c < n; c++) row[c] = (float)(sums[r][c] - less) * (scale * column_scales[c]);
            }
        }
    }
}
