/* Linear layers with 8-bit weights. */
#pragma once
#include "team.h"
#include <stdint.h>

/* A matrix d_in x d_out, quantised to -127..127 with a scale per column. `codes` holds them plus 128, in panels of 64
   columns; in a panel, four rows of a column are adjacent, then the same four rows of the next column. Padding to full
   panels and groups of four is arbitrary. */
typedef struct {
    const uint8_t *codes;
    const float *scales;
} Int8Weight;

/* y = x · weight + bias, shared by `team`; both may be null. Each row of x is quantised with a scale of its own. `scratch` holds
   rows · (in / 2 + 4) floats. */
void heed_int8_linear(
    Team *team, const float *x, const Int8Weight *weight, const float *bias, float *y, long rows, long in, long out,
    float *scratch);
