/* Section 3.3: max(0, x + bias), for each of some rows of d numbers, in the place of x. */
#pragma once

void heed_relu(float *restrict x, const float *restrict bias, long rows, long d);
