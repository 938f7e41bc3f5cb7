// Loops that were written after the finder and not looked at while it was made.
#include <algorithm>
#include <vector>

#include "kernels.cuh"

// --- can be deferred -------------------------------------------------------------------------
//= rounded_up class 1 first 0 step 1 count n : one(=, =3)
LOOP void rounded_up(float *a, int n, int size) {
    for (int i = 0; i < n; i++) one<<<(size + 255) / 256, 256>>>(a, 3);
}
class Buffer {
public:
    explicit Buffer(size_t size) { cudaMalloc(&data, size); }
    ~Buffer() { cudaFree(data); }
    float *data = nullptr;
};
//= owned_buffer class 3 first 0 step 1 count n : cudaMalloc(=, =800); one(@0+0, 0+1); cudaFree(@0+0)
LOOP void owned_buffer(int n) {
    for (int i = 0; i < n; i++) {
        Buffer buffer(800);
        one<<<4, 128>>>(buffer.data, i);
    }
}
struct Buffers {
    float *from, *to;
    int steps;
};
//= swap_members class 3 first 0 step 1 count n : two(~, ~, =1)
LOOP void swap_members(float *a, float *b, int n) {
    Buffers buffers{a, b, n};
    for (int i = 0; i < buffers.steps; i++) {
        two<<<4, 128>>>(buffers.to, buffers.from, 1);
        std::swap(buffers.from, buffers.to);
    }
}
//= post_decrement class 1 first n step -1 count n : one(=, =2)
LOOP void post_decrement(float *a, int n) {
    while (n--) one<<<4, 128>>>(a, 2);
}
//= unsigned_down class 2 first n step -1 count n : one(=, n-1)
LOOP void unsigned_down(float *a, unsigned n) {
    for (unsigned i = n; i-- > 0;) one<<<4, 128>>>(a, i);
}
//= break_first class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void break_first(float *a, int n) {
    int i = 0;
    while (true) {
        if (i >= n) break;
        one<<<4, 128>>>(a, i);
        ++i;
    }
}
//= shifted_index class 2 first 0 step 1 count n : one(=, 0+4)
LOOP void shifted_index(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i << 2);
}
//= inverted_index class 2 first 0 step 1 count n : one(=, -1-1)
LOOP void inverted_index(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, ~i);
}
//= factored class 2 first 0 step 1 count 12 : one(=, 3+6)
LOOP void factored(float *a) {
    for (int i = 0; i < 12; i++) one<<<4, 128>>>(a, (i * 2 + 1) * 3);
}
//= plane_offsets class 2 first 0 step 1 count n : two(+?, +?, 0+1)
LOOP void plane_offsets(float *a, float *b, int n, size_t plane) {
    for (int i = 0; i < n; i++) two<<<4, 128>>>(a + i * plane, b + (n - i) * plane, i);
}
static void bump(int &i, int by) { i += by; }
//= bumped_by_reference class 2 first 1 step 7 count n : one(=, 1+7)
LOOP void bumped_by_reference(float *a, int n) {
    for (int i = 1; i < n; bump(i, 7)) one<<<4, 128>>>(a, i);
}
//= returns_index class 2 first 0 step 2 count n : one(=, 0+2)
LOOP int returns_index(float *a, int n) {
    int i = 0;
    for (; i < n; i += 2) one<<<4, 128>>>(a, i);
    return i;
}
//= float_expression class 1 first 0 step 1 count n : scaled(=, =, =)
LOOP void float_expression(float *a, int n, float x, double y) {
    for (int i = 0; i < n; i++) scaled<<<4, 128>>>(a, 2.0f * x + 1.0f, y / 3);
}
//= checked_after class 2 first 0 step 1 count n : one(=, 0+1)
LOOP int checked_after(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i);
    if (cudaGetLastError() != cudaSuccess) return 1;
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 2;
}
//= swapped_numbers class 3 first 0 step 1 count n : one(=, ~)
LOOP void swapped_numbers(float *a, int n, int x, int y) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, x);
        std::swap(x, y);
    }
}
//= negative_long class 2 first 1000 step -10 count 100 : wide(=, 1000-10, =0)
LOOP void negative_long(float *a) {
    for (long i = 1000; i > 0; i -= 10) wide<<<4, 128>>>(a, i, 0);
}
struct Large {
    long values[6];
    float *p;
};
__global__ void enlarged(Large large, int i) { large.p[i & 7] = large.values[2]; }
//= large_structure class 2 first 0 step 1 count n : enlarged(b, 0+1)
LOOP void large_structure(float *a, int n) {
    Large large{{1, 2, 3, 4, 5, 6}, a};
    for (int i = 0; i < n; i++) enlarged<<<4, 128>>>(large, i);
}
static Large make(float *a, long first) { return Large{{first, 1, 1, 1, 1, 1}, a}; }
//= structure_made_inside class 2 first 0 step 1 count n : enlarged(+8, =0)
LOOP void structure_made_inside(float *a, int n) {
    for (int i = 0; i < n; i++) enlarged<<<4, 128>>>(make(a, 8L * i), 0);
}
//= three_deep class 2 first 0 step 1 count 5 : eight(=, =, =, =, =0, =0, =0, 0+1)
LOOP void three_deep(float *a) {
    for (int x = 0; x < 3; x++)
        for (int y = 0; y < 4; y++)
            for (int z = 0; z < 5; z++) eight<<<4, 128>>>(a, a, x, y, 0, 0, 0, z);
}
//= memset_swapped class 3 first 0 step 1 count n : cudaMemsetAsync(~, =0, =64, =); two(~, ~, 0+1)
LOOP void memset_swapped(float *a, float *b, int n, cudaStream_t stream) {
    for (int i = 0; i < n; i++) {
        cudaMemsetAsync(b, 0, 64, stream);
        two<<<4, 128, 0, stream>>>(b, a, i);
        std::swap(a, b);
    }
}
//= chunks class 2 first 0 step 4096 count n : cudaMemcpyAsync(n+4096, n+4096, =4096, =1, =); one(n+4096, =9)
LOOP void chunks(char *device, const char *host, long bytes, cudaStream_t stream) {
    for (long at = 0; at < bytes; at += 4096) {
        cudaMemcpyAsync(device + at, host + at, 4096, cudaMemcpyHostToDevice, stream);
        one<<<16, 64, 0, stream>>>((float *)(device + at), 9);
    }
}

// --- cannot ----------------------------------------------------------------------------------
//= byte_counter not ARGUMENT|EXIT
LOOP void byte_counter(float *a, int n) {
    for (unsigned char i = 0; i < n; i++) one<<<4, 128>>>(a, i);
}
//= short_sum not ARGUMENT
LOOP void short_sum(float *a, int n) {
    short k = 0;
    for (int i = 0; i < n; i++, k += 300) one<<<4, 128>>>(a, k);
}
//= remaining_blocks not ARGUMENT
LOOP void remaining_blocks(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<(n - i + 255) / 256, 256>>>(a, i);
}
//= converted not ARGUMENT
LOOP void converted(float *a, int n) {
    for (int i = 0; i < n; i++) scaled<<<4, 128>>>(a, (float)i, 0);
}
//= xored not ARGUMENT
LOOP void xored(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i ^ 1);
}
//= toggled_bits not ARGUMENT
LOOP void toggled_bits(float *a, int n) {
    for (int i = 0, k = 3; i < n; i++, k ^= 5) one<<<4, 128>>>(a, k);
}
//= fibonacci not ARGUMENT
LOOP void fibonacci(float *a, int n) {
    int x = 1, y = 1;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, x);
        int z = x + y;
        x = y;
        y = z;
    }
}
//= smaller_of_two not ARGUMENT|BRANCH|MEMORY
LOOP void smaller_of_two(float *a, int n, int m) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, std::min(i, m));
}
//= last_chunk not ARGUMENT|BRANCH|MEMORY
LOOP void last_chunk(char *a, const char *host, long bytes) {
    for (long at = 0; at < bytes; at += 4096)
        cudaMemcpyAsync(a + at, host + at, std::min(4096L, bytes - at), cudaMemcpyHostToDevice, 0);
}
//= skips_one not BRANCH
LOOP void skips_one(float *a, int n, int skipped) {
    for (int i = 0; i < n; i++) {
        if (i == skipped) continue;
        one<<<4, 128>>>(a, i);
    }
}
//= sometimes_synchronised not CALL
LOOP void sometimes_synchronised(float *a, int n) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        if (i % 10 == 0) cudaStreamSynchronize(0);
    }
}
//= shrinking_bound not EXIT
LOOP void shrinking_bound(float *a, int n) {
    for (int i = 0; i < n; i++, n--) one<<<4, 128>>>(a, i);
}
//= streams_in_a_vector not MEMORY|CALL
LOOP void streams_in_a_vector(float *a, const std::vector<cudaStream_t> &streams) {
    for (size_t i = 0; i < streams.size(); i++) one<<<4, 128, 0, streams[i]>>>(a, (int)i);
}
//= own_streams not MEMORY|CALL
LOOP void own_streams(float *a, int n) {
    cudaStream_t streams[4];
    for (int i = 0; i < 4; i++) cudaStreamCreate(&streams[i]);
    for (int i = 0; i < n; i++) one<<<4, 128, 0, streams[i % 4]>>>(a, i);
}
//= static_counter not MEMORY
LOOP void static_counter(float *a, int n) {
    static int counter;
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, counter++);
}
thread_local int per_thread;
//= thread_counter not MEMORY|CALL
LOOP void thread_counter(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, per_thread);
}
//= chosen_kernel not CALL|ARGUMENT
LOOP void chosen_kernel(float *a, int n, void (*kernel)(float *, int)) {
    for (int i = 0; i < n; i++) kernel<<<4, 128>>>(a, i);
}
static __attribute__((noinline)) void several(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i);
}
//= loop_in_a_function not CALL|INNER_LOOP
LOOP void loop_in_a_function(float *a, int n) {
    for (int i = 0; i < n; i++) several(a, i);
}
//= recursive not CALL
LOOP void recursive(float *a, int n) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        recursive(a, i - 1);
    }
}
static __attribute__((noinline)) void fill(int *n) {
    for (int i = 0; i < *n; i++) n[0] ^= i;
}
//= bound_changed_by_function not CALL|MEMORY
LOOP void bound_changed_by_function(float *a, int n) {
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        fill(&n);
    }
}
//= kept_error not RESULT
LOOP int kept_error(float *a, int n) {
    cudaError_t first = cudaSuccess;
    for (int i = 0; i < n; i++) {
        cudaError_t error = cudaMemsetAsync(a + i, 0, 4, 0);
        first = first == cudaSuccess ? error : first;
    }
    return first;
}
//= all_good not RESULT
LOOP bool all_good(float *a, int n) {
    bool good = true;
    for (int i = 0; i < n; i++) good &= cudaMemsetAsync(a + i, 0, 4, 0) == cudaSuccess;
    return good;
}
//= previous_error not RESULT|EXIT
LOOP void previous_error(float *a, int n) {
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < n && error == cudaSuccess; i++) error = cudaMemsetAsync(a + i, 0, 4, 0);
}
//= distance_of_pointers not ARGUMENT|RESULT
LOOP void distance_of_pointers(float *a, int n) {
    for (int i = 0; i < n; i++) {
        char *p, *q;
        cudaMalloc(&p, 64);
        cudaMalloc(&q, 64);
        wide<<<4, 128>>>(a, p - q, 0);
        cudaFree(p);
        cudaFree(q);
    }
}
//= list_walk not MEMORY
struct Node {
    Node *next;
    float *data;
};
LOOP void list_walk(Node *node) {
    for (; node; node = node->next) one<<<4, 128>>>(node->data, 1);
}
//= function_tested not CALL
LOOP void function_tested(float *a, int n, int (*more)(int)) {
    for (int i = 0; i < n && more(i); i++) one<<<4, 128>>>(a, i);
}
//= random_argument not CALL
LOOP void random_argument(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, rand());
}
//= queried_event not CALL
LOOP void queried_event(float *a, cudaEvent_t event) {
    int i = 0;
    while (cudaEventQuery(event) == cudaErrorNotReady) one<<<4, 128>>>(a, i++);
}
//= growing_step not ARGUMENT|EXIT
LOOP void growing_step(float *a, int n) {
    for (int i = 0, s = 1; i < n; i += s, s++) one<<<4, 128>>>(a, i);
}
//= outer_times_inner not ARGUMENT
LOOP void outer_times_inner(float *a, int n) {
    int k = 0;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        for (int j = 0; j < i; j++) k += j;
    }
}
//= negated not ARGUMENT
LOOP void negated(float *a, int n, int k) {
    for (int i = 0; i < n; i++, k = -k) one<<<4, 128>>>(a, k);
}
//= switched not BRANCH|UNDECIDED|ARGUMENT|MEMORY
LOOP void switched(float *a, int n) {
    for (int i = 0; i < n; i++) switch (i % 6) {
            case 0: one<<<4, 128>>>(a, 5); break;
            case 1: one<<<4, 128>>>(a, 17); break;
            case 2: one<<<5, 128>>>(a, 3); break;
            case 3: two<<<4, 128>>>(a, a, 1); break;
            case 4: one<<<4, 64>>>(a, 8); break;
            default: break;
        }
}

//= main class 2 first 0 step 1 count 4 : one(=, 0+1)
int main() {
    float *a;
    cudaMalloc(&a, 1 << 20);
    char *host = (char *)calloc(1, 1 << 14);
    for (int i = 0; i < 4; i++) one<<<1, 32>>>(a, i);
    rounded_up(a, 4, 1000);
    owned_buffer(4);
    swap_members(a, a + 64, 5);
    post_decrement(a, 4);
    unsigned_down(a, 4);
    break_first(a, 4);
    shifted_index(a, 4);
    inverted_index(a, 4);
    factored(a);
    plane_offsets(a, a + 8, 4, 16);
    bumped_by_reference(a, 30);
    int sum = returns_index(a, 7);
    float_expression(a, 4, 0.5f, 2.5);
    sum += checked_after(a, 4);
    swapped_numbers(a, 5, 3, 8);
    negative_long(a);
    large_structure(a, 4);
    structure_made_inside(a, 4);
    three_deep(a);
    memset_swapped(a, a + 64, 5, 0);
    chunks((char *)a, host, 1 << 14, 0);
    return sum == 12345;
}
