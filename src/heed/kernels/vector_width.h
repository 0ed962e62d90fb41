/* The number of floats in a vector register. Wider vectors would take several registers each, and there are too few. */
#pragma once
#ifdef __AVX512F__
enum { VECTOR_WIDTH = 16 };
#else
enum { VECTOR_WIDTH = 8 };
#endif
