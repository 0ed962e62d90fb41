/* exp(x), in a form that compilers can vectorise. */
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

/* x = n ln 2 + r with |r| <= ln 2 / 2: a polynomial for e^r (Cephes), and n added to the exponent. The error is at most
   two units in the last place. Returns zero below -87, also for -inf; x must not be above 88. */
static inline float exponential(float x) {
    const float clamped = x < -87.0f ? -87.0f : x;
    const float n = rintf(clamped * 1.44269504f);
    const float r = fmaf(n, 2.12194440e-4f, fmaf(n, -0.693359375f, clamped)); /* ln 2 in two parts */
    float p = 1.9875691500e-4f;
    p = fmaf(p, r, 1.3981999507e-3f);
    p = fmaf(p, r, 8.3334519073e-3f);
    p = fmaf(p, r, 4.1665795894e-2f);
    p = fmaf(p, r, 1.6666665459e-1f);
    p = fmaf(p, r, 5.0000001201e-1f);
    p = fmaf(p, r * r, r + 1.0f);
    const int32_t bits = ((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return x < -87.0f ? 0.0f : p * power;
}
