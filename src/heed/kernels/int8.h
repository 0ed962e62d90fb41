/* Products with weights of 8 bits. */
#pragma once
#include <stdint.h>

/* d_in x d_out, rounded to -127..127 steps of the columns' scales. `steps` has them plus 128, in panels of 64 columns;
   in a panel, four rows of a column lie side by side, then the same of the next column. What is missing to whole panels
   and fours is filled up with anything. */
typedef struct {
    const uint8_t *steps;
    const float *scales;
} Int8Weight;

/* y = x · weight + bias, if there is one. Each row of x is rounded to steps of its own. `room` is for
   rows · (in / 2 + 4) numbers. */
void heed_int8_product(
    const float *x, const Int8Weight *weight, const float *bias, float *y, long rows, long in, long out, float *room);
