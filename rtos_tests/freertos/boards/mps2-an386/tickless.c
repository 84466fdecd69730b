#include "../mps2-an385/tickless.c"
