/* Linear layers with float32 weights that are packed once. */
#pragma once
#include "team.h"

/* y = x · weight, for `rows` rows of x, shared by `team`, which may be null. A weight d_in x d_out is packed in panels of 64 columns, the last one padded; in
   a panel, the 64 numbers of a row are adjacent. */
void heed_float32_linear(Team *team, const float *x, const float *weight, float *y, long rows, long in, long out);
