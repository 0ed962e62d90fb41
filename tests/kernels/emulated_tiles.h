/* Tiles in plain C, as Intel's manual defines them, to run code written for AMX on any processor. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HAS_TILES
#define WITH_TILES

typedef union {
    float sums[16][16];
    uint16_t halves[16][32];
    unsigned char bytes[16][64];
} Tile;

static _Thread_local Tile tiles[8];
static _Thread_local int configured;
static int allowed; /* to this process: Linux asks that of each, and of each program that it starts */

static int tiles_offered(void) { return allowed = 1; }

static void tiles_configure(void) {
    if (!allowed) abort();   /* a processor faults */
    if (configured) abort(); /* the call before this one did not release them */
    configured = 1;
    memset(tiles, 0, sizeof tiles);
}

static void tiles_release(void) { configured = 0; }

static Tile *tile(int t) {
    if (!configured) abort(); /* a processor faults */
    return &tiles[t];
}

static void tile_zero(int t) { memset(tile(t), 0, sizeof(Tile)); }

static void tile_load(int t, const void *from, long stride) {
    for (int r = 0; r < 16; r++) memcpy(tile(t)->bytes[r], (const char *)from + r * stride, 64);
}

static void tile_store(int t, void *to, long stride) {
    for (int r = 0; r < 16; r++) memcpy((char *)to + r * stride, tile(t)->bytes[r], 64);
}

/* Numbers too small for the normal format count as zero. */
static float flushed(float x) { return fabsf(x) < FLT_MIN ? 0.0f : x; }

static float widened(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return flushed(x);
}

static void tile_multiply(int c, int a, int b) {
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++) {
            float even = 0, odd = 0;
            for (int k = 0; k < 32; k += 2) {
                const uint16_t *x = tile(a)->halves[m] + k, *y = tile(b)->halves[k / 2] + 2 * n;
                even = flushed(fmaf(widened(x[0]), widened(y[0]), even));
                odd = flushed(fmaf(widened(x[1]), widened(y[1]), odd));
            }
            tile(c)->sums[m][n] = flushed(flushed(tile(c)->sums[m][n]) + flushed(even + odd));
        }
}
