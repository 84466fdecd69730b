/* The option `no-slicing`: see no-slicing.yaml. */
#undef configUSE_TIME_SLICING
#define configUSE_TIME_SLICING 0
