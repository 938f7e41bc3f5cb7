// Kernels and macros that all programs share.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#define LOOP extern "C" __attribute__((noinline))

__global__ void one(float *a, int i) { a[i & 7] += 1; }
__global__ void two(float *a, float *b, int i) { a[i & 7] = b[i & 7]; }
__global__ void eight(float *a, float *b, int c, int d, int e, int f, int g, int h) {
    a[0] = b[0] + c + d + e + f + g + h;
}
__global__ void wide(float *a, long i, unsigned long j) { a[i & 7] += j; }
__global__ void scaled(float *a, float x, double y) { a[0] += x + y; }
__global__ void small(float *a, short s, unsigned char c) { a[0] += s + c; }
__global__ void nothing() {}
