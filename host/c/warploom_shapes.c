#include "warploom_shapes.h"

/* The shape's entry; null if it has none. */
static warploom_shape *found_shape(warploom_shapes *shapes, uint32_t dx, uint32_t dy, uint32_t dz)
{
    uint32_t n;
    for (n = 0; n < shapes->size; n++) {
        warploom_shape *shape = &shapes->shapes[n];
        if (shape->dx == dx && shape->dy == dy && shape->dz == dz) return shape;
    }
    return 0;
}

/* The lowest row from which on so many rows are no shape's. */
static uint32_t free_rows(const warploom_shapes *shapes, uint32_t warps)
{
    uint32_t first = 0, n = 0;
    while (n < shapes->size) {
        const warploom_shape *other = &shapes->shapes[n++];
        uint32_t end = other->first + other->warps;
        if (other->dx && other->first < first + warps && first < end) {
            /* Begin behind it, and look at all shapes again. */
            first = end;
            n = 0;
        }
    }
    return first;
}

/* The entry of the shape that was asked for longest ago. */
static warploom_shape *oldest_shape(warploom_shapes *shapes)
{
    warploom_shape *oldest = 0;
    uint32_t n;
    for (n = 0; n < shapes->size; n++) {
        warploom_shape *shape = &shapes->shapes[n];
        /* By its age: `asked` wraps. */
        if (shape->dx && (!oldest || shapes->asked - shape->asked > shapes->asked - oldest->asked))
            oldest = shape;
    }
    return oldest;
}

/* Give a shape without an entry one, and rows; others lose theirs while there is no room. */
static warploom_shape *new_shape(warploom_shapes *shapes, const warploom_launch *launch, uint32_t warps)
{
    for (;;) {
        warploom_shape *shape = found_shape(shapes, 0, 0, 0);
        uint32_t first = free_rows(shapes, warps);
        if (shape && first + warps <= WARPLOOM_INDEX_MEMORY_WARPS) {
            shape->dx = launch->dx;
            shape->dy = launch->dy;
            shape->dz = launch->dz;
            shape->first = first;
            shape->warps = warps;
            return shape;
        }
        shape = oldest_shape(shapes);
        shape->dx = shape->dy = shape->dz = 0;
    }
}

/* The product, without an instruction that a small core may lack. */
static uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (; b; b >>= 1, a <<= 1)
        if (b & 1) product += a;
    return product;
}

int warploom_place_indices(warploom_shapes *shapes, warploom_launch *launch)
{
    warploom_shape *shape;
    uint32_t warps, words[WARPLOOM_LAUNCH_WORDS];
    launch->index_address = 0;
    if (warploom_pack_launch(launch, words)) return WARPLOOM_RANGE;
    warps = (times(times(launch->dx, launch->dy), launch->dz) + WARPLOOM_WARP_SIZE - 1) / WARPLOOM_WARP_SIZE;
    /* The core refuses a block without threads; without an index memory the address is 0. */
    if (!warps || !WARPLOOM_INDEX_MEMORY_WARPS) return WARPLOOM_OK;
    if (!shapes->size || warps > WARPLOOM_INDEX_MEMORY_WARPS) return WARPLOOM_RANGE;
    shape = found_shape(shapes, launch->dx, launch->dy, launch->dz);
    if (!shape) shape = new_shape(shapes, launch, warps);
    shape->asked = ++shapes->asked;
    launch->index_address = shape->first;
    return WARPLOOM_OK;
}
