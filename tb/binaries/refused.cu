// Loops that must make their calls themselves, one for each reason and for each trap.
#include "kernels.cuh"

int global_count = 4;
float *global_pointer;
volatile int global_stop;
__device__ __managed__ int managed_value;

// --- calls outside the table -----------------------------------------------------------------
//= synchronised not CALL
LOOP void synchronised(float *a, int n) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        cudaDeviceSynchronize();
    }
}
//= checked_by_query not CALL
LOOP int checked_by_query(float *a, int n) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        if (cudaGetLastError() != cudaSuccess) return 1;
    }
    return 0;
}
//= copy_back_read not CALL
LOOP void copy_back_read(float *a, int n) {
    for (int i = 0; i < n; i++) {
        float error;
        one<<<4, 128>>>(a, i);
        cudaMemcpy(&error, a, 4, cudaMemcpyDeviceToHost);
        if (error < 0.5f) break;
    }
}
//= copy_back_unread not CALL
LOOP void copy_back_unread(float *a, float *host, int n) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        cudaMemcpyAsync(host + i, a, 4, cudaMemcpyDeviceToHost, 0);
    }
}
//= copy_default not CALL
LOOP void copy_default(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) cudaMemcpyAsync(a + i, b, 4, cudaMemcpyDefault, 0);
}
//= copy_unknown_direction not CALL
LOOP void copy_unknown_direction(float *a, float *b, int n, cudaMemcpyKind kind) {
    for (int i = 0; i < n; i++) cudaMemcpyAsync(a + i, b, 4, kind, 0);
}
//= prints not CALL
LOOP void prints(float *a, int n) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        printf("%d\n", i);
    }
}
//= through_a_pointer not CALL
LOOP void through_a_pointer(float *a, int n, void (*call)(int)) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        call(i);
    }
}
//= frees_outer not CALL
LOOP void frees_outer(char *a, int n) {
    for (int i = 0; i < n; i++) cudaFree(a + 512 * i);
}
//= creates_streams not CALL
LOOP void creates_streams(float *a, int n) {
    for (int i = 0; i < n; i++) {
        cudaStream_t stream;
        cudaStreamCreate(&stream);
        one<<<4, 128, 0, stream>>>(a, i);
        cudaStreamDestroy(stream);
    }
}

// --- results that something uses -------------------------------------------------------------
#define CHECK(call)                                                    \
    do {                                                               \
        cudaError_t status = (call);                                   \
        if (status != cudaSuccess) {                                   \
            fprintf(stderr, "%s\n", cudaGetErrorString(status));       \
            exit(1);                                                   \
        }                                                              \
    } while (0)
//= checked_each not RESULT
LOOP void checked_each(float *a, int n) {
    for (int i = 0; i < n; i++) CHECK(cudaMemsetAsync(a + i, 0, 4, 0));
}
//= stops_at_error not RESULT|EXIT
LOOP int stops_at_error(float *a, int n) {
    int i = 0;
    while (i < n && cudaMemsetAsync(a + i, 0, 4, 0) == cudaSuccess) i++;
    return i;
}
//= counts_errors not RESULT|BRANCH
LOOP int counts_errors(float *a, int n) {
    int errors = 0;
    for (int i = 0; i < n; i++)
        if (cudaMemsetAsync(a + i, 0, 4, 0) != cudaSuccess) errors++;
    return errors;
}
//= sums_errors not RESULT
LOOP int sums_errors(float *a, int n) {
    int errors = 0;
    for (int i = 0; i < n; i++) errors += (int)cudaMemsetAsync(a + i, 0, 4, 0);
    return errors;
}
//= error_as_argument not RESULT
LOOP void error_as_argument(float *a, int n) {
    int last = 0;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, last);
        last = (int)cudaMemsetAsync(a, 0, 4, 0);
    }
}
//= tested_later not RESULT
LOOP int tested_later(float *a, int n) {
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < n; i++) status = cudaMemsetAsync(a + i, 0, 4, 0);
    if (status != cudaSuccess) puts("failed");
    return n;
}
//= pointer_tested not RESULT
LOOP void pointer_tested(int n) {
    for (int i = 0; i < n; i++) {
        float *p = 0;
        cudaMalloc(&p, 64);
        if (!p) break;
        one<<<4, 128>>>(p, i);
        cudaFree(p);
    }
}
//= pointer_kept not RESULT
LOOP float *pointer_kept(int n) {
    float *p = 0;
    for (int i = 0; i < n; i++) {
        cudaMalloc(&p, 64);
        one<<<4, 128>>>(p, i);
    }
    return p;
}
//= pointer_leaked_to_memory not MEMORY|RESULT
LOOP void pointer_leaked_to_memory(float **table, int n) {
    for (int i = 0; i < n; i++) {
        float *p;
        cudaMalloc(&p, 64);
        table[i] = p;
        one<<<4, 128>>>(p, i);
        cudaFree(p);
    }
}
//= pointer_from_before not ARGUMENT|CALL|RESULT
LOOP void pointer_from_before(int n) {
    float *p = 0;
    for (int i = 0; i < n; i++) {
        cudaFree(p);
        cudaMalloc(&p, 64);
        one<<<4, 128>>>(p, i);
    }
    cudaFree(p);
}
//= pointer_plus_index not ARGUMENT|RESULT
LOOP void pointer_plus_index(int n) {
    for (int i = 0; i < n; i++) {
        float *p;
        cudaMalloc(&p, 4096);
        one<<<4, 128>>>(p + i, i);
        cudaFree(p);
    }
}

// --- memory ----------------------------------------------------------------------------------
//= global_bound not MEMORY
LOOP void global_bound(float *a) {
    for (int i = 0; i < global_count; i++) one<<<4, 128>>>(a, i);
}
//= global_argument not MEMORY
LOOP void global_argument(int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(global_pointer, i);
}
//= global_stop_flag not MEMORY
LOOP void global_stop_flag(float *a, int n) {
    for (int i = 0; i < n; i++) {
        if (global_stop) break;
        one<<<4, 128>>>(a, i);
    }
}
//= global_written not MEMORY
LOOP void global_written(float *a, int n) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        global_count = i;
    }
}
//= managed_read not MEMORY|CALL
LOOP void managed_read(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, managed_value);
}
//= table_argument not MEMORY
LOOP void table_argument(float *a, const int *p, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, p[i]);
}
//= heap_written not MEMORY
LOOP void heap_written(float *a, float *host, int n) {
    for (int i = 0; i < n; i++) {
        host[i] = 2 * i;
        cudaMemcpyAsync(a + i, host + i, 4, cudaMemcpyHostToDevice, 0);
    }
}
//= bound_by_reference not MEMORY
LOOP void bound_by_reference(float *a, const int &n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i);
}
//= local_table not MEMORY
LOOP void local_table(float *a, int n) {
    int steps[4] = {n, n * n, 7, n + 3};
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, steps[i & 3]);
}
//= local_buffers not MEMORY|ARGUMENT
LOOP void local_buffers(float *a, float *b, int n) {
    float *buffers[2] = {a, b};
    for (int i = 0; i < n; i++) two<<<4, 128>>>(buffers[i & 1], buffers[(i + 1) & 1], i);
}
//= escaped_bound not MEMORY
LOOP void escaped_bound(float *a) {
    int n = 10;
    cudaHostRegister(&n, sizeof n, 0);
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i);
    cudaHostUnregister(&n);
}
//= escaped_argument not MEMORY
LOOP void escaped_argument(float *a, int n) {
    int value = 3;
    cudaMemcpyAsync(&value, a, 4, cudaMemcpyDeviceToHost, 0);
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, value);
}

// --- arguments -------------------------------------------------------------------------------
//= squared not ARGUMENT
LOOP void squared(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i * i);
}
//= half_scaled not ARGUMENT
LOOP void half_scaled(float *a, int n, float x) {
    for (int i = 0; i < n; i++) scaled<<<4, 128>>>(a, 0.5f * x * i, 0);
}
//= float_sum not ARGUMENT
LOOP void float_sum(float *a, int n) {
    float x = 0;
    for (int i = 0; i < n; i++) {
        scaled<<<4, 128>>>(a, x, 0);
        x += 0.5f;
    }
}
//= doubled not ARGUMENT
LOOP void doubled(float *a, int n) {
    int k = 1;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        k *= 2;
    }
}
//= halved not ARGUMENT|EXIT
LOOP void halved(float *a, int n) {
    for (int k = n; k > 0; k /= 2) one<<<4, 128>>>(a, k);
}
//= halved_grid not ARGUMENT|EXIT
LOOP void halved_grid(float *a, int n) {
    for (unsigned k = n; k > 1; k >>= 1) one<<<k, 128>>>(a, 1);
}
//= triangle not ARGUMENT
LOOP void triangle(float *a, int n) {
    int k = 0;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        k += i;
    }
}
//= masked not ARGUMENT
LOOP void masked(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i & 3);
}
//= modulo not ARGUMENT
LOOP void modulo(float *a, int n, int m) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i % m);
}
//= quotient not ARGUMENT
LOOP void quotient(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i / 3);
}
//= rotating_three not ARGUMENT
LOOP void rotating_three(float *a, float *b, float *c, int n) {
    for (int i = 0; i < n; i++) {
        two<<<4, 128>>>(a, b, i);
        float *d = a;
        a = b;
        b = c;
        c = d;
    }
}
//= swap_with_offset not ARGUMENT
LOOP void swap_with_offset(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) {
        two<<<4, 128>>>(a, b, i);
        float *c = a;
        a = b + 1;
        b = c;
    }
}
//= delayed not ARGUMENT
LOOP void delayed(float *a, int n) {
    int before = 100;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, before);
        before = i;
    }
}
//= first_differs not ARGUMENT
LOOP void first_differs(float *a, float *b, int n) {
    float *p = a;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(p, i);
        p = b;
    }
}
//= clamped not ARGUMENT|BRANCH
LOOP void clamped(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i < 8 ? i : 8);
}
//= byte_index not ARGUMENT
LOOP void byte_index(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, (unsigned char)i);
}
//= changing_bytes not ARGUMENT
LOOP void changing_bytes(float *a, int n) {
    for (int i = 0; i < n; i++) {
        int value = 3 * i;
        cudaMemcpyAsync(a + i, &value, 4, cudaMemcpyHostToDevice, 0);
    }
}
//= conditional_step not ARGUMENT|BRANCH
LOOP void conditional_step(float *a, int n, int m) {
    int k = 0;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        if (i & m) k += 2;
    }
}
//= seventh_squared not ARGUMENT
LOOP void seventh_squared(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) eight<<<4, 128>>>(a, b, 1, 2, 3, 4, i * i, i);
}
//= structure_squared not ARGUMENT
struct Pair {
    int x, y, z;
};
__global__ void paired(Pair pair, float *a) { a[0] = pair.x + pair.y + pair.z; }
LOOP void structure_squared(float *a, int n) {
    Pair pair{1, 2, 3};
    for (int i = 0; i < n; i++) {
        pair.z = i * i;
        paired<<<4, 128>>>(pair, a);
    }
}
//= grid_squared not ARGUMENT
LOOP void grid_squared(float *a, int n) {
    for (int i = 1; i < n; i++) one<<<i * i, 128>>>(a, 1);
}

// --- control flow ----------------------------------------------------------------------------
//= every_second not BRANCH
LOOP void every_second(float *a, int n) {
    for (int i = 0; i < n; i++)
        if (i & 1) one<<<4, 128>>>(a, i);
}
//= either_kernel not BRANCH
LOOP void either_kernel(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0)
            one<<<4, 128>>>(a, i);
        else
            two<<<4, 128>>>(a, b, i);
    }
}
//= exit_between not EXIT
LOOP void exit_between(float *a, float *b, int n, int last) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        if (i == last) break;
        two<<<4, 128>>>(a, b, i);
    }
}
//= exit_by_product not EXIT
LOOP void exit_by_product(float *a, int n) {
    for (int i = 0; i * i < n; i++) one<<<4, 128>>>(a, i);
}
//= exit_by_float not EXIT
LOOP void exit_by_float(float *a, float limit) {
    int i = 0;
    for (float x = 0; x < limit; x += 0.1f) one<<<4, 128>>>(a, i++);
}
//= exit_by_doubling not EXIT|ARGUMENT
LOOP void exit_by_doubling(float *a, int n) {
    for (int k = 1; k < n; k *= 2) one<<<4, 128>>>(a, 1);
}
//= moving_bound not EXIT
LOOP void moving_bound(float *a, int n) {
    for (int i = 0, j = n; i < j; i++, j--) one<<<4, 128>>>(a, i);
}
//= for_ever not EXIT
LOOP void for_ever(float *a) {
    for (int i = 0;; i++) one<<<4, 128>>>(a, i);
}

//= main not CALL
int main(int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        float *a = 0;
        cudaMalloc(&a, 4096);
        prints(a, 1);
        cudaFree(a);
    }
    return 0;
}
