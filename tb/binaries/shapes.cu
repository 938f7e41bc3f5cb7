// Loops of every shape: bounds, steps, widths, exits, helpers, nests.
#include "kernels.cuh"

//= down_counting class 2 first n step -1 count n : one(=, n-1)
LOOP void down_counting(float *a, int n) {
    for (int i = n; i > 0; i--) one<<<4, 128>>>(a, i);
}
//= down_to_zero class 2 first 31 step -1 count 32 : one(=, 31-1)
LOOP void down_to_zero(float *a) {
    for (int i = 31; i >= 0; i--) one<<<4, 128>>>(a, i);
}
//= step_three class 2 first 2 step 3 count 33 : one(=, 2+3)
LOOP void step_three(float *a) {
    for (int i = 2; i < 100; i += 3) one<<<4, 128>>>(a, i);
}
//= step_down_four class 2 first n step -4 count n : one(=, n-4)
LOOP void step_down_four(float *a, int n) {
    for (int i = n; i >= 3; i -= 4) one<<<4, 128>>>(a, i);
}
//= between class 2 first n step 1 count n : one(=, n+1)
LOOP void between(float *a, int from, int to) {
    for (int i = from; i <= to; i++) one<<<4, 128>>>(a, i);
}
//= long_index class 2 first 0 step 1 count n : wide(=, 0+1, =6)
LOOP void long_index(float *a, long n) {
    for (long i = 0; i < n; i++) wide<<<4, 128>>>(a, i, 6);
}
//= unsigned_index class 2 first 0 step 1 count n : wide(=, =1, 0+8)
LOOP void unsigned_index(float *a, size_t n) {
    for (size_t i = 0; i < n; i++) wide<<<4, 128>>>(a, 1, 8 * i);
}
//= unsigned_32 class 2 first 0 step 2 count n : one(=, 0+2)
LOOP void unsigned_32(float *a, unsigned n) {
    for (unsigned i = 0; i < n; i += 2) one<<<4, 128>>>(a, i);
}
//= pointer_loop class 2 first n step 256 count n : one(n+256, =0)
LOOP void pointer_loop(float *a, float *end) {
    for (float *p = a; p < end; p += 64) one<<<4, 64>>>(p, 0);
}
//= while_loop class 2 first 0 step 5 count n : one(=, 0+5)
LOOP void while_loop(float *a, int n) {
    int i = 0;
    while (i < n) {
        one<<<4, 128>>>(a, i);
        i += 5;
    }
}
//= do_while class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void do_while(float *a, int n) {
    int i = 0;
    do {
        one<<<4, 128>>>(a, i);
        i++;
    } while (i < n);
}
//= count_down_while class 1 first n step -1 count n : one(=, =7)
LOOP void count_down_while(float *a, int n) {
    while (n > 0) {
        one<<<4, 128>>>(a, 7);
        n--;
    }
}
//= not_equal class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void not_equal(float *a, int n) {
    for (int i = 0; i != n; i++) one<<<4, 128>>>(a, i);
}
//= two_variables class 2 first 0 step 1 count n : two(=, =, 100-3)
LOOP void two_variables(float *a, float *b, int n) {
    for (int i = 0, j = 100; i < n; i++, j -= 3) two<<<4, 128>>>(a, b, j);
}
//= running_offset class 2 first 0 step 1 count n : one(n+128, =1)
LOOP void running_offset(float *a, int n) {
    float *p = a;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(p, 1);
        p += 32;
    }
}
//= early_exit class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void early_exit(float *a, int n, int last) {
    for (int i = 0; i < n; i++) {
        if (i == last) break;
        one<<<4, 128>>>(a, i);
    }
}
//= exit_at_the_end class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void exit_at_the_end(float *a, int n, int last) {
    for (int i = 0;; i++) {
        one<<<4, 128>>>(a, i);
        if (i >= last) return;
    }
}
//= unrolled_by_hand class 2 first 0 step 4 count n : one(=, 0+4); one(=, 1+4); one(=, 2+4); one(=, 3+4)
LOOP void unrolled_by_hand(float *a, int n) {
    for (int i = 0; i < n; i += 4) {
        one<<<4, 128>>>(a, i);
        one<<<4, 128>>>(a, i + 1);
        one<<<4, 128>>>(a, i + 2);
        one<<<4, 128>>>(a, i + 3);
    }
}
//= rotated_by_hand class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void rotated_by_hand(float *a, int n) {
    int i = 0;
    if (i >= n) return;
again:
    one<<<4, 128>>>(a, i);
    if (++i < n) goto again;
}
//= volatile_index class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void volatile_index(float *a, int n) {
    for (volatile int i = 0; i < n; i = i + 1) one<<<4, 128>>>(a, i);
}
//= volatile_bound class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void volatile_bound(float *a, int n) {
    volatile int bound = n;
    for (int i = 0; i < bound; i++) one<<<4, 128>>>(a, i);
}
//= many_live class 2 first 0 step 1 count n : eight(=, =, =, =, =, =, =, 0+1)
LOOP void many_live(float *a, float *b, int c, int d, int e, int f, int g, int n) {
    for (int i = 0; i < n; i++) eight<<<c + d, e + f>>>(a, b, c * d, d * e, e * f, f * g, g, i);
}

static inline void helper(float *a, int i) { one<<<4, 128>>>(a, i); }
static inline void helper_of_helper(float *a, int i) {
    helper(a, i);
    helper(a + 1, i + 1);
}
//= in_a_helper class 2 first 0 step 1 count n : one(=, 0+2)
LOOP void in_a_helper(float *a, int n) {
    for (int i = 0; i < n; i++) helper(a, 2 * i);
}
//= in_two_helpers class 2 first 0 step 1 count n : one(=, 0+1); one(=, 1+1)
LOOP void in_two_helpers(float *a, int n) {
    for (int i = 0; i < n; i++) helper_of_helper(a, i);
}
static __attribute__((noinline)) void separate(float *a, int i, float *b) {
    two<<<4, 128>>>(a, b, i);
}
//= in_a_function class 2 first 0 step 1 count n : two(=, =, 0+1)
LOOP void in_a_function(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) separate(a, i, b);
}
struct Runner {
    float *a;
    int base;
    void run(int i) const { one<<<4, 128>>>(a, base + i); }
};
//= in_a_method class 2 first 0 step 1 count n : one(=, n+1)
LOOP void in_a_method(float *a, int n, int base) {
    Runner runner{a, base};
    for (int i = 0; i < n; i++) runner.run(i);
}
//= in_a_lambda class 2 first 0 step 1 count n : one(=, 0+3)
LOOP void in_a_lambda(float *a, int n) {
    auto launch = [&](int k) { one<<<4, 128>>>(a, 3 * k); };
    for (int i = 0; i < n; i++) launch(i);
}
// The outer loop is listed too, with the reason INNER_LOOP; the inner one begins anew each time.
//= nest class 2 first 0 step 1 count n : two(=, =, n+1)
LOOP void nest(float *a, float *b, int n, int m) {
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++) two<<<4, 128>>>(a, b, 10 * j + i);
}
// The inner loop makes no CUDA call.
//= host_loop_inside class 2 first 0 step 1 count n : one(=, 0+1)
LOOP int host_loop_inside(float *a, int n, int m) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, i);
        for (int j = 0; j < m; j++) sum = sum * 5 + 3;
    }
    return sum;
}
//= invariant_condition class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void invariant_condition(float *a, float *b, int n, int m) {
    float *used = m > 7 ? a : b;
    for (int i = 0; i < n; i++) one<<<4, 128>>>(used, i);
}
//= host_sum class 2 first 0 step 1 count n : one(=, 0+1)
LOOP int host_sum(float *a, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += i * i;
        one<<<4, 128>>>(a, i);
    }
    return sum;
}

//= main class 1 first 0 step 1 count 3 : nothing()
int main(int argc, char **argv) {
    float *a = 0;
    cudaMalloc(&a, 1 << 20);
    for (int i = 0; i < 3; i++) nothing<<<1, 1>>>();
    down_counting(a, 5);
    down_to_zero(a);
    step_three(a);
    step_down_four(a, 20);
    between(a, 3, 9);
    long_index(a, 5);
    unsigned_index(a, 5);
    unsigned_32(a, 9);
    pointer_loop(a, a + 300);
    while_loop(a, 12);
    do_while(a, 5);
    count_down_while(a, 5);
    not_equal(a, 5);
    two_variables(a, a, 5);
    running_offset(a, 5);
    early_exit(a, 9, 4);
    exit_at_the_end(a, 5, 3);
    unrolled_by_hand(a, 8);
    rotated_by_hand(a, 5);
    volatile_index(a, 5);
    volatile_bound(a, 5);
    many_live(a, a, 1, 2, 3, 4, 5, 6);
    in_a_helper(a, 5);
    in_two_helpers(a, 5);
    in_a_function(a, a, 5);
    in_a_method(a, 5, 7);
    in_a_lambda(a, 5);
    nest(a, a, 4, 3);
    int sum = host_loop_inside(a, 5, 3);
    invariant_condition(a, a + 1, 5, argc);
    sum += host_sum(a, 5);
    return sum == argc;
}
