// Copies, memsets, events, allocations, swapped buffers.
#include "kernels.cuh"

//= copy_in class 2 first 0 step 1 count n : cudaMemcpyAsync(=, n+1024, =1024, =1, =)
LOOP void copy_in(char *a, const char *host, int n, cudaStream_t stream) {
    for (int i = 0; i < n; i++)
        cudaMemcpyAsync(a, host + 1024 * (long)i, 1024, cudaMemcpyHostToDevice, stream);
}
//= copy_in_sync class 2 first 0 step 1 count n : cudaMemcpy(n+4, =, =4, =1)
LOOP void copy_in_sync(float *a, const float *host, int n) {
    for (int i = 0; i < n; i++) cudaMemcpy(a + i, host, 4, cudaMemcpyHostToDevice);
}
//= copy_within class 2 first 0 step 1 count n : cudaMemcpyAsync(n+64, n+32, =32, =3, =); one(=, 0+1)
LOOP void copy_within(float *a, float *b, int n, cudaStream_t stream) {
    for (int i = 0; i < n; i++) {
        cudaMemcpyAsync(a + 16 * i, b + 8 * i, 32, cudaMemcpyDeviceToDevice, stream);
        one<<<4, 128, 0, stream>>>(a, i);
    }
}
//= set_memory class 2 first 0 step 1 count n : cudaMemset(n+512, =0, =512)
LOOP void set_memory(char *a, int n) {
    for (int i = 0; i < n; i++) cudaMemset(a + 512 * i, 0, 512);
}
//= set_memory_async class 2 first 0 step 1 count n : cudaMemsetAsync(=, 0+1, =512, =)
LOOP void set_memory_async(char *a, int n, cudaStream_t stream) {
    for (int i = 0; i < n; i++) cudaMemsetAsync(a, i, 512, stream);
}
//= record_and_wait class 2 first 0 step 1 count n : one(=, 0+1); cudaEventRecord(=, =); cudaStreamWaitEvent(=, =, =0)
LOOP void record_and_wait(float *a, int n, cudaStream_t s, cudaStream_t t, cudaEvent_t done) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128, 0, s>>>(a, i);
        cudaEventRecord(done, s);
        cudaStreamWaitEvent(t, done, 0);
    }
}
//= constant_from_the_stack class 1 first 0 step 1 count n : cudaMemcpy(=, =, =4, =1)
LOOP void constant_from_the_stack(float *a, int n) {
    int value = 17;
    for (int i = 0; i < n; i++) cudaMemcpy(a, &value, 4, cudaMemcpyHostToDevice);
}
//= swap_by_hand class 3 first 0 step 1 count n : two(~, ~, 0+1)
LOOP void swap_by_hand(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) {
        two<<<4, 128>>>(a, b, i);
        float *c = a;
        a = b;
        b = c;
    }
}
//= swap_by_library class 3 first 0 step 1 count n : two(~, ~, =2)
LOOP void swap_by_library(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) {
        two<<<4, 128>>>(a, b, 2);
        std::swap(a, b);
    }
}
//= swap_first class 3 first 0 step 1 count n : one(~, 0+1)
LOOP void swap_first(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) {
        std::swap(a, b);
        one<<<4, 128>>>(b + 8, i);
    }
}
//= swap_own_buffers class 3 first 0 step 1 count n : two(~, ~, 0+1)
LOOP void swap_own_buffers(int n) {
    float *a, *b;
    cudaMalloc(&a, 4096);
    cudaMalloc(&b, 4096);
    for (int i = 0; i < n; i++) {
        two<<<4, 128>>>(a, b, i);
        std::swap(a, b);
    }
    cudaDeviceSynchronize();
    cudaFree(a);
    cudaFree(b);
}
//= allocate_and_free class 3 first 0 step 1 count n : cudaMalloc(=, =4096); one(@0+16, 0+1); cudaFree(@0+0)
LOOP void allocate_and_free(int n) {
    for (int i = 0; i < n; i++) {
        float *p;
        cudaMalloc(&p, 4096);
        one<<<4, 128>>>(p + 4, i);
        cudaFree(p);
    }
}
//= allocate_async class 3 first 0 step 1 count n : cudaMallocAsync(=, 256+256, =); cudaMemsetAsync(@0+0, =0, =64, =); cudaFreeAsync(@0+0, =)
LOOP void allocate_async(int n, cudaStream_t stream) {
    for (int i = 0; i < n; i++) {
        void *p;
        cudaMallocAsync(&p, 256 * (i + 1), stream);
        cudaMemsetAsync(p, 0, 64, stream);
        cudaFreeAsync(p, stream);
    }
}
//= two_allocations class 3 first 0 step 1 count n : cudaMalloc(=, =64); cudaMalloc(=, =32); two(@0+0, @1+4, 0+1); cudaFree(@1+0); cudaFree(@0+0)
LOOP void two_allocations(int n) {
    for (int i = 0; i < n; i++) {
        float *p, *q;
        cudaMalloc(&p, 64);
        cudaMalloc(&q, 32);
        two<<<4, 128>>>(p, q + 1, i);
        cudaFree(q);
        cudaFree(p);
    }
}
//= ignored_error class 2 first 0 step 1 count n : cudaMemsetAsync(n+4, =0, =4, =)
LOOP void ignored_error(float *a, int n) {
    for (int i = 0; i < n; i++) {
        cudaError_t error = cudaMemsetAsync(a + i, 0, 4, 0);
        (void)error;
    }
}

//= main class 3 first 0 step 1 count 6 : two(~, ~, 0+1)
int main() {
    const size_t size = 1 << 16;
    float *host = (float *)malloc(size);
    float *a, *b;
    cudaStream_t s;
    cudaEvent_t done;
    cudaMalloc(&a, size);
    cudaMalloc(&b, size);
    cudaStreamCreate(&s);
    cudaEventCreate(&done);
    for (int i = 0; i < 6; i++) {
        two<<<16, 256>>>(a, b, i);
        std::swap(a, b);
    }
    cudaMemcpy(host, a, size, cudaMemcpyDeviceToHost);
    copy_in((char *)a, (const char *)host, 4, s);
    copy_in_sync(a, host, 4);
    copy_within(a, b, 4, s);
    set_memory((char *)a, 4);
    set_memory_async((char *)a, 4, s);
    record_and_wait(a, 4, s, s, done);
    constant_from_the_stack(a, 4);
    swap_by_hand(a, b, 5);
    swap_by_library(a, b, 5);
    swap_first(a, b, 5);
    swap_own_buffers(5);
    allocate_and_free(4);
    allocate_async(4, s);
    two_allocations(4);
    ignored_error(a, 4);
    cudaDeviceSynchronize();
    free(host);
}
