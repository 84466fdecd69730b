/* What differs from run to run. */
#include "random.h"

#ifndef SEED
#define SEED 1
#endif
#ifndef CALLS
#define CALLS 1000
#endif

const unsigned random_seed = SEED;
const unsigned random_calls = CALLS;
