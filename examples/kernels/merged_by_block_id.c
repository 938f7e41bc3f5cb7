/* The merged kernel in a wrong form: a task's last block is the one with the highest block id. */
#define LAST_BY_BLOCK_ID
#include "merged.c"
