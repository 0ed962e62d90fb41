/* Section 3.3: x = max(0, x + bias) in place, for each row of d numbers. */
#pragma once

void heed_relu(float *restrict x, const float *restrict bias, long rows, long d);
