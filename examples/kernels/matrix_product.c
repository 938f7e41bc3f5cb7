/* out = a b for n x n matrices, row after row; threads that are too many stride on. */
#include "warploom_kernel.h"

struct arguments {
    const int *a, *b;
    int *out;
    unsigned n;
};

void kernel(const struct arguments *given)
{
    unsigned n = given->n;
    unsigned row = block_y() * block_dim_y() + thread_y();
    unsigned first = block_x() * block_dim_x() + thread_x();
    unsigned step = grid_dim_x() * block_dim_x();
    /* Threads of one x and y but different z take turns with the rows. */
    unsigned rows = grid_dim_y() * block_dim_y();
    unsigned layer = block_z() * block_dim_z() + thread_z();
    unsigned layers = grid_dim_z() * block_dim_z();
    for (row += rows * layer; row < n; row += rows * layers) {
        for (unsigned column = first; column < n; column += step) {
            int sum = 0;
            const int *a = given->a + row * n, *b = given->b + column;
            for (unsigned k = 0; k < n; k++, b += n) sum += a[k] * *b;
            given->out[row * n + column] = sum;
        }
    }
}
