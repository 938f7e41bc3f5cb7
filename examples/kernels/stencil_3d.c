/* Each inner point of a box becomes 6 times itself less its six neighbours; the faces are copied. */
#include "warploom_kernel.h"

struct arguments {
    const int *in;
    int *out;
    unsigned nx, ny, nz;
};

void kernel(const struct arguments *given)
{
    unsigned nx = given->nx, ny = given->ny, nz = given->nz;
    unsigned x = block_x() * block_dim_x() + thread_x();
    unsigned y = block_y() * block_dim_y() + thread_y();
    unsigned z = block_z() * block_dim_z() + thread_z();
    if (x >= nx || y >= ny || z >= nz) return;
    unsigned i = x + nx * (y + ny * z);
    const int *at = given->in + i;
    int value = *at;
    if (x > 0 && x + 1 < nx && y > 0 && y + 1 < ny && z > 0 && z + 1 < nz) {
        value = 6 * value - at[-1] - at[1] - at[-(int)nx] - at[nx];
        value -= at[-(int)(nx * ny)] + at[nx * ny];
    }
    given->out[i] = value;
}
