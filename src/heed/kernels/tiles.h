/* Tiles (AMX): 8 registers of 16 rows x 64 bytes, and products of two of them in bfloat16.

   CPUID leaf 0x1D has the sizes of tiles, but some virtual machines hide it. Palette 1 has these sizes by definition. The
   instructions are written out: compilers differ in what their headers say about the memory that these touch. */
#pragma once
#include <stdint.h>

#if defined(__x86_64__) && defined(__linux__) && !defined(WITHOUT_TILES)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HAS_TILES
#define WITH_TILES __attribute__((target("amx-tile,amx-bf16")))

/* Ask the processor for the instructions, and Linux to let this process use them: it allows nobody by default. */
static int tiles_offered(void) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, BF16 = 1 << 22, TILE = 1 << 24 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & BF16) || !(d & TILE)) return 0;
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* Configure all tiles of this thread. */
WITH_TILES static inline void tiles_configure(void) {
    static const struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } all = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
    __asm__ volatile("ldtilecfg %0" : : "m"(all));
}

WITH_TILES static inline void tiles_release(void) { __asm__ volatile("tilerelease" : : : "memory"); }

/* Macros, because the number of a tile is part of the instruction. Strides are in bytes. */
#define tile_zero(t) __asm__ volatile("tilezero %%tmm" #t : :)
#define tile_load(t, from, stride)                                                                                     \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"((const void *)(from)), "r"((long)(stride)) : "memory")
#define tile_store(t, to, stride)                                                                                      \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"((void *)(to)), "r"((long)(stride)) : "memory")
/* sums += a b: 16 x 16 numbers, 16 x 16 pairs, and 16 pairs x 16 columns. */
#define tile_multiply(sums, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #sums : :)
#endif
