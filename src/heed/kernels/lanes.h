/* Numbers of a vector that fits a register; wider ones would be spread over several, of which there are too few. */
#pragma once
#ifdef __AVX512F__
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif
