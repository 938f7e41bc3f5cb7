/* Fields of words, for the driver's own sources. */
#ifndef WARPLOOM_FIELDS_H
#define WARPLOOM_FIELDS_H

#include "warploom_host.h"

/* The value of a field that a word holds, and the word that holds a value. */
#define GET(word, field) (((word) & field##_MASK) >> field##_SHIFT)
#define FITS(value, field) (((value) & ~(field##_MASK >> field##_SHIFT)) == 0)
#define PUT(value, field) ((value) << field##_SHIFT)
/* The low bits of a value, as many as a field has. */
#define CUT(value, field) ((value) & (field##_MASK >> field##_SHIFT))

#define LOW(value) ((uint32_t)((value) & UINT32_C(0xFFFFFFFF)))
#define HIGH(value) ((uint32_t)((value) >> 32))

#ifdef WARPLOOM_LOOP_TEMPLATES
#define LOOPS 1
#else
/* Without loops no launch is quiet, and no pair relative. */
#define LOOPS 0
#define WARPLOOM_LAUNCH_QUIET_SHIFT 0
#define WARPLOOM_LAUNCH_QUIET_MASK UINT32_C(0)
#define WARPLOOM_FLAG_RELATIVE 0
#endif

#endif
