// Loops whose stores no common instruction makes, and whose exits are not tested each time.
#include "kernels.cuh"

// --- stores ----------------------------------------------------------------------------------
//= rotated not ARGUMENT
LOOP void rotated(float *a, int n, unsigned k) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        k = (k << 16) | (k >> 16);
        k += 1;
    }
}
//= rotated_in_memory not ARGUMENT
LOOP void rotated_in_memory(float *a, int n) {
    volatile unsigned k = 3;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        asm volatile("roll $5, %0" : "+m"(k));
    }
}
//= long_double not ARGUMENT
LOOP void long_double(float *a, int n, long double x) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, (int)x);
        x += 0.75L;
    }
}
//= rounded not ARGUMENT
LOOP void rounded(float *a, int n) {
    double x = 0.3;
    for (int i = 0; i < n; i++) {
        int k;
        asm volatile("fldl %1; fistpl %0" : "=m"(k) : "m"(x));
        one<<<4, 128>>>(a, k);
        x += 0.9;
    }
}
//= not_cached not ARGUMENT
LOOP void not_cached(float *a, int n) {
    volatile int k = 3;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        __builtin_ia32_movnti((int *)&k, i * i);
    }
}
//= exchanged_if_equal not ARGUMENT
LOOP void exchanged_if_equal(float *a, int n) {
    int k = 3;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        __sync_val_compare_and_swap(&k, k, i * i);
    }
}
//= wide_vectors not ARGUMENT|MEMORY
extern "C" __attribute__((noinline, target("avx2"))) void wide_vectors(float *a, double x, int n) {
    for (int i = 0; i < n; i++) {
        volatile float y = x;
        scaled<<<4, 128>>>(a, y, x);
        x *= 1.5;
    }
}
//= errors_as_floats not RESULT
LOOP int errors_as_floats(float *a, int n) {
    long double sum = 0;
    for (int i = 0; i < n; i++) sum += (long double)(int)cudaMemsetAsync(a, 0, 4, 0);
    return sum > 0;
}

// --- exits -----------------------------------------------------------------------------------
//= guarded not EXIT
LOOP void guarded(float *a) {
    for (int i = 0;; i++) {
        if (i % 3 == 2 && i >= 4) break;
        one<<<4, 128>>>(a, i);
    }
}
//= guarded_by_argument not EXIT
LOOP void guarded_by_argument(float *a, int m) {
    for (int i = 0; i < 10; i++) {
        if (m > 3 && i == 5) break;
        one<<<4, 128>>>(a, i);
    }
}
//= guarded_behind_call not EXIT
LOOP void guarded_behind_call(float *a, int m) {
    for (int i = 0; i < 10; i++) {
        one<<<4, 128>>>(a, i);
        if (m > 3 && i >= 5) break;
    }
}
//= odd_ones_leave not EXIT
LOOP void odd_ones_leave(float *a) {
    for (int i = 0; i < 20; i++) {
        one<<<4, 128>>>(a, i);
        if (i & 1)
            if (i > 5) break;
    }
}
//= the_longer_of_two class 2 first 0 step 1 count 7 : one(=, 0+1)
LOOP void the_longer_of_two(float *a) {
    for (int i = 0, j = 3; i < 7 || j < 5; i++, j += 2) one<<<4, 128>>>(a, i);
}
//= the_shorter_of_two class 2 first 0 step 1 count 4 : one(=, 0+1)
LOOP void the_shorter_of_two(float *a) {
    for (int i = 0, j = 3; i < 20 && j < 11; i++, j += 2) one<<<4, 128>>>(a, i);
}

int main() {
    float *a;
    cudaMalloc(&a, 1 << 20);
    rotated(a, 7, 3);
    rotated_in_memory(a, 5);
    long_double(a, 8, 0.1L);
    rounded(a, 5);
    not_cached(a, 5);
    exchanged_if_equal(a, 5);
    wide_vectors(a, 1.1, 5);
    errors_as_floats(a, 4);
    guarded(a);
    guarded_by_argument(a, 2);
    guarded_by_argument(a, 5);
    guarded_behind_call(a, 2);
    odd_ones_leave(a);
    the_longer_of_two(a);
    the_shorter_of_two(a);
    return 0;
}
