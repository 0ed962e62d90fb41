/* The activation of the feed-forward network: max(0, x + bias), forward and backward. */
#include "relu.h"

void heed_relu(float *restrict x, const float *restrict bias, long rows, long d) {
    for (long r = 0; r < rows; r++, x += d)
        for (long c = 0; c < d; c++) {
            const float sum = x[c] + bias[c];
            x[c] = sum < 0 ? 0 : sum; /* this way round, NaN stays NaN */
        }
}

/* Given the output y and its gradient, write the gradient of x and accumulate that of the bias. */
void heed_relu_backward(
    const float *restrict y, const float *restrict grad_y, float *restrict grad_x, float *restrict grad_bias, long rows,
    long d) {
    for (long r = 0; r < rows; r++, y += d, grad_y += d, grad_x += d)
        for (long c = 0; c < d; c++) {
            grad_x[c] = y[c] <= 0 ? 0 : grad_y[c];
            grad_bias[c] += grad_x[c];
        }
}
