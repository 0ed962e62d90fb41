/* Between the two products of a feed-forward network: max(0, x + bias), and the way back. */
#include "relu.h"

void heed_relu(float *restrict x, const float *restrict bias, long rows, long d) {
    for (long r = 0; r < rows; r++, x += d)
        for (long c = 0; c < d; c++) {
            const float sum = x[c] + bias[c];
            x[c] = sum < 0 ? 0 : sum; /* what is not a number stays so */
        }
}

/* From what came of it, y, and the slope by that, the slopes by x and, added to what is there, by the bias. */
void heed_relu_back(
    const float *restrict y, const float *restrict above, float *restrict by_x, float *restrict by_bias, long rows,
    long d) {
    for (long r = 0; r < rows; r++, y += d, above += d, by_x += d)
        for (long c = 0; c < d; c++) {
            by_x[c] = y[c] <= 0 ? 0 : above[c];
            by_bias[c] += by_x[c];
        }
}
