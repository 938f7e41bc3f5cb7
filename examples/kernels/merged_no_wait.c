/* The merged kernel in a wrong form: blocks do not wait for the marks of the tasks they need. */
#define NO_WAIT
#include "merged.c"
