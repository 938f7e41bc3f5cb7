/* Rows of the index memory for block shapes (docs/host/drivers.md). Beside warploom.h. */
#ifndef WARPLOOM_SHAPES_H
#define WARPLOOM_SHAPES_H

#include "warploom.h"

/* A block shape, and its rows of the index memory. */
typedef struct {
    uint32_t dx, dy, dz;   /* dx is 0: no shape */
    uint32_t first, warps; /* the rows */
    uint32_t asked;        /* when a launch asked for them last */
} warploom_shape;

/* Which block shape has which rows. The program owns `shapes`, of `size` entries; all else, and all
 * entries, are 0 at first. */
typedef struct {
    warploom_shape *shapes;
    uint32_t size, asked;
} warploom_shapes;

/* Set a launch's index_address: each block shape gets rows of its own, and keeps them. While there
 * is no room, the shape that was asked for longest ago gives up its rows. Nothing is accessed.
 * WARPLOOM_RANGE: a value fits no field, `size` is 0, or the block has more warps than the memory. */
int warploom_place_indices(warploom_shapes *shapes, warploom_launch *launch);

#endif
