// Launches whose arguments are constant or follow the loop variable.
#include "kernels.cuh"

struct Box {
    int x, y;
    long z;
    float *p;
};
__global__ void boxed(Box box, int i) { box.p[i & 7] = box.x + box.y + box.z; }
template <int N, class T> __global__ void shaped(T *a, T x, int i) { a[i & 7] = x * N; }
static __global__ void hidden(float *a, int i) { a[i & 7] -= 1; }
namespace deep {
namespace er {
__global__ void spaced(float *a, int i) { a[i & 7] -= 2; }
}  // namespace er
}  // namespace deep

//= constant_all class 1 first 0 step 1 count n : one(=, =7)
LOOP void constant_all(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, 7);
}
//= no_arguments class 1 first 0 step 1 count 100 : nothing()
LOOP void no_arguments() {
    for (int i = 0; i < 100; i++) nothing<<<1, 32>>>();
}
//= plain class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void plain(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i);
}
//= scaled_index class 2 first 0 step 1 count n : one(=, 5+3)
LOOP void scaled_index(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, 3 * i + 5);
}
//= reversed_index class 2 first 0 step 1 count n : one(=, n-2)
LOOP void reversed_index(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, n - 2 * i);
}
//= moving_pointer class 2 first 0 step 1 count n : one(n+400, 0+1)
LOOP void moving_pointer(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a + 100 * i, i);
}
//= eight_arguments class 2 first 0 step 1 count n : eight(=, =, =1, =2, =3, =4, 0+1, 9-7)
LOOP void eight_arguments(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) eight<<<4, 128>>>(a, b, 1, 2, 3, 4, i, 9 - 7 * i);
}
//= only_the_last class 2 first 0 step 1 count n : eight(=, =, =1, =2, =3, =4, =5, 0+1)
LOOP void only_the_last(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) eight<<<4, 128>>>(a, b, 1, 2, 3, 4, 5, i);
}
//= constant_structure class 2 first 0 step 1 count n : boxed(b, 0+1)
LOOP void constant_structure(float *a, int n) {
    Box box{1, 2, 3, a};
    for (int i = 0; i < n; i++) boxed<<<4, 128>>>(box, i);
}
//= moving_structure class 2 first 0 step 1 count n : boxed(+2, =4)
LOOP void moving_structure(float *a, int n) {
    Box box{1, 2, 3, a};
    for (int i = 0; i < n; i++) {
        box.y = 2 * i;
        boxed<<<4, 128>>>(box, 4);
    }
}
//= template_kernel class 2 first 0 step 1 count n : shaped(=, =, 0+1)
LOOP void template_kernel(float *a, int n) {
    for (int i = 0; i < n; i++) shaped<3><<<4, 128>>>(a, 2.0f, i);
}
//= static_kernel class 2 first 0 step 1 count n : hidden(=, 0+1)
LOOP void static_kernel(float *a, int n) {
    for (int i = 0; i < n; i++) hidden<<<4, 128>>>(a, i);
}
//= kernel_in_namespace class 2 first 0 step 1 count n : spaced(=, 0+1)
LOOP void kernel_in_namespace(float *a, int n) {
    for (int i = 0; i < n; i++) deep::er::spaced<<<4, 128>>>(a, i);
}
//= moving_grid class 2 first 0 step 1 count n : one[gx:1+1](=, =7)
LOOP void moving_grid(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<i + 1, 128>>>(a, 7);
}
//= moving_grid_y class 2 first 0 step 1 count n : one[gy:2+4 bx:8+1](=, =7)
LOOP void moving_grid_y(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<dim3(3, 4 * i + 2, 5), dim3(8 + i, 2, 2)>>>(a, 7);
}
//= moving_shared class 2 first 0 step 1 count n : one[sh:0+16](=, =7)
LOOP void moving_shared(float *a, int n, cudaStream_t stream) {
    for (int i = 0; i < n; i++) one<<<4, 128, 16 * i, stream>>>(a, 7);
}
//= given_shape class 1 first 0 step 1 count n : one(=, =7)
LOOP void given_shape(float *a, int n, dim3 grid, dim3 block) {
    for (int i = 0; i < n; i++) one<<<grid, block>>>(a, 7);
}
//= wide_arguments class 2 first 0 step 1 count n : wide(=, 0+1, 0+2)
LOOP void wide_arguments(float *a, int n) {
    for (int i = 0; i < n; i++) wide<<<4, 128>>>(a, i, 2 * (long)i);
}
//= float_constants class 1 first 0 step 1 count n : scaled(=, =, =)
LOOP void float_constants(float *a, int n, float x) {
    for (int i = 0; i < n; i++) scaled<<<4, 128>>>(a, x, 0.5);
}
//= small_arguments class 2 first 0 step 1 count n : small(=, 0+1, 3+2)
LOOP void small_arguments(float *a, int n) {
    for (int i = 0; i < n; i++) small<<<4, 128>>>(a, i, 2 * i + 3);
}
//= two_launches class 2 first 0 step 1 count n : one(=, 0+1); two(=, =, 1+1)
LOOP void two_launches(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        two<<<4, 64>>>(a, b, i + 1);
    }
}
//= runtime_stride class 2 first 0 step 1 count n : one(+?, 0+1)
LOOP void runtime_stride(float *a, int n, int stride) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a + (long)i * stride, i);
}
//= direct_launch class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void direct_launch(float *a, int n) {
    for (int i = 0; i < n; i++) {
        void *arguments[] = {&a, &i};
        cudaLaunchKernel((void *)one, dim3(4), dim3(128), arguments, 0, 0);
    }
}

//= main class 2 first 0 step 1 count 10 : one(=, 0+1)
int main() {
    float *a;
    float *host = (float *)malloc(4096);
    cudaMalloc(&a, 4096);
    for (int i = 0; i < 10; i++) one<<<1, 32>>>(a, i);
    constant_all(a, 5);
    no_arguments();
    plain(a, 5);
    scaled_index(a, 5);
    reversed_index(a, 5);
    moving_pointer(a, 5);
    eight_arguments(a, a, 5);
    only_the_last(a, a, 5);
    constant_structure(a, 5);
    moving_structure(a, 5);
    template_kernel(a, 5);
    static_kernel(a, 5);
    kernel_in_namespace(a, 5);
    moving_grid(a, 5);
    moving_grid_y(a, 5);
    moving_shared(a, 5, 0);
    given_shape(a, 5, dim3(2, 3), dim3(32));
    wide_arguments(a, 5);
    float_constants(a, 5, 1.5f);
    small_arguments(a, 5);
    two_launches(a, a, 5);
    runtime_stride(a, 5, 3);
    direct_launch(a, 5);
    cudaDeviceSynchronize();
    free(host);
}
