// A second set that was written late: stranger shapes, and more ways to be wrong.
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>

#include "kernels.cuh"

enum Mode { fast = 3, slow = 8 };
__global__ void typed(float *a, bool flag, Mode mode, float4 v, unsigned char c) {
    a[0] = flag + mode + v.x + c;
}
struct Point {
    int x, y;
};
__global__ void three(Point p, Point q, Point r, float *a) { a[0] = p.x + q.y + r.x; }

// --- can be deferred -------------------------------------------------------------------------
//= ten_by_three class 2 first 0 step 3 count 4 : one(=, 0+3)
LOOP void ten_by_three(float *a) {
    for (int i = 0; i < 10; i += 3) one<<<4, 128>>>(a, i);
}
//= ten_down_by_three class 2 first 10 step -3 count 4 : one(=, 10-3)
LOOP void ten_down_by_three(float *a) {
    for (int i = 10; i > 0; i -= 3) one<<<4, 128>>>(a, i);
}
//= to_twelve_exactly class 2 first -12 step 4 count 6 : one(=, -12+4)
LOOP void to_twelve_exactly(float *a) {
    for (int i = -12; i != 12; i += 4) one<<<4, 128>>>(a, i);
}
//= at_most class 2 first 1 step 1 count 20 : one(=, 1+1)
LOOP void at_most(float *a) {
    for (unsigned i = 1; i <= 20; i++) one<<<4, 128>>>(a, i);
}
//= do_while_seven class 1 first 0 step 1 count 17 : one(=, =4)
LOOP void do_while_seven(float *a) {
    int i = 0;
    do one<<<4, 128>>>(a, 4);
    while (++i < 17);
}
//= do_while_down class 2 first 19 step -1 count 19 : one(=, 19-1)
LOOP void do_while_down(float *a) {
    int i = 19;
    do one<<<4, 128>>>(a, i);
    while (--i);
}
//= left_at_thirteen class 2 first 0 step 1 count 13 : one(=, 0+1)
LOOP void left_at_thirteen(float *a) {
    for (int i = 0; i < 20; i++) {
        if (i == 13) break;
        one<<<4, 128>>>(a, i);
    }
}
//= left_behind_thirteen class 2 first 0 step 1 count 14 : one(=, 0+1)
LOOP void left_behind_thirteen(float *a) {
    for (int i = 0; i < 20; i++) {
        one<<<4, 128>>>(a, i);
        if (i == 13) break;
    }
}
//= growing_dim3 class 2 first 0 step 1 count n : one[gx:2+2 gz:1+1](=, =1)
LOOP void growing_dim3(float *a, int n) {
    dim3 grid(2, 3, 1);
    for (int i = 0; i < n; i++) {
        one<<<grid, 64>>>(a, 1);
        grid.x += 2;
        grid.z++;
    }
}
//= many_types class 2 first 0 step 1 count n : typed(=, =1, =8, b, 7+2)
LOOP void many_types(float *a, int n) {
    for (int i = 0; i < n; i++)
        typed<<<4, 128>>>(a, true, slow, make_float4(1, 2, 3, 4), (unsigned char)(2 * i + 7));
}
//= three_structures class 2 first 0 step 1 count n : three(=, =, =, n+8)
LOOP void three_structures(float *a, int n) {
    for (int i = 0; i < n; i++)
        three<<<4, 128>>>(Point{1, 2}, Point{3, 4}, Point{5, 6}, a + 2 * i);
}
//= both_ways class 1 first 0 step 1 count n : two(=, =, =0); two(=, =, =1)
LOOP void both_ways(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) {
        two<<<4, 128>>>(a, b, 0);
        std::swap(a, b);
        two<<<4, 128>>>(a, b, 1);
        std::swap(a, b);
    }
}
//= through_own_pointer class 2 first 0 step 1 count n : one(=, 5+3)
LOOP void through_own_pointer(float *a, int n) {
    int k = 5;
    int *p = &k;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        *p += 3;
    }
}
//= own_array class 2 first 0 step 1 count n : two(=, =, 7+1)
LOOP void own_array(float *a, float *b, int n) {
    int k[3] = {1, 7, 9};
    for (int i = 0; i < n; i++) {
        two<<<4, 128>>>(a, b, k[1]);
        k[1]++;
    }
}
//= changed_by_lambda class 2 first 0 step 1 count n : one(=, 2+5)
LOOP void changed_by_lambda(float *a, int n) {
    int k = 2;
    auto next = [&] { k += 5; };
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        next();
    }
}
//= after_host_loop class 2 first 0 step 1 count n : eight(=, =, =, =0, =0, =0, =0, 0+1)
LOOP void after_host_loop(float *a, int n, int m) {
    int sum = 1;
    for (int i = 0; i < m; i++) sum = sum * 3 + i;
    for (int i = 0; i < n; i++) eight<<<4, 128>>>(a, a, sum, 0, 0, 0, 0, i);
}
//= in_one_arm class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void in_one_arm(float *a, float *b, int n, int m) {
    if (m > 3) {
        for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i);
    } else {
        cudaMemset(b, 0, m);
    }
}
//= behind_synchronise class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void behind_synchronise(float *a, int n) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) one<<<4, 128, 0, stream>>>(a, i);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
}
//= negative_offset class 3 first 0 step 1 count n : cudaMalloc(=, =512); one(@0+508, =1); one(@0+0, =2); cudaFree(@0+0)
LOOP void negative_offset(int n) {
    for (int i = 0; i < n; i++) {
        char *p;
        cudaMalloc(&p, 512);
        char *end = p + 512;
        one<<<4, 128>>>((float *)(end - 4), 1);
        one<<<4, 128>>>((float *)p, 2);
        cudaFree(p);
    }
}
//= wrapping_argument class 2 first 0 step 1 count n : one(=, -16+8)
LOOP void wrapping_argument(float *a, unsigned n) {
    unsigned k = 0xfffffff0;
    for (unsigned i = 0; i < n; i++, k += 8) one<<<4, 128>>>(a, k);
}
class Solver {
public:
    Solver(float *a, int n) : data(a), steps(n) {}
    void step(int i) { one<<<blocks(), 128>>>(data + offset, i); }
    int blocks() const { return (steps + 127) / 128; }
    float *data;
    int steps, offset = 16;
};
//= solver_steps class 2 first 0 step 1 count n : one(=, 0+1)
LOOP void solver_steps(float *a, int n) {
    Solver solver(a, n);
    for (int i = 0; i < solver.steps; i++) solver.step(i);
}
//= copies_with_growing_size class 2 first 0 step 1 count n : cudaMemcpyAsync(=, =, 4+4, =3, =)
LOOP void copies_with_growing_size(float *a, float *b, int n) {
    for (int i = 0; i < n; i++)
        cudaMemcpyAsync(a, b, (i + 1) * sizeof(float), cudaMemcpyDeviceToDevice, 0);
}

// --- cannot ----------------------------------------------------------------------------------
//= first_flag not ARGUMENT|BRANCH
LOOP void first_flag(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i == 0);
}
//= last_flag not ARGUMENT|BRANCH
LOOP void last_flag(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i == n - 1);
}
//= by_parity not ARGUMENT|BRANCH
LOOP void by_parity(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(i % 2 ? a : b, i);
}
//= swapped_sometimes not ARGUMENT|BRANCH
LOOP void swapped_sometimes(float *a, float *b, int n) {
    for (int i = 0; i < n; i++) {
        two<<<4, 128>>>(a, b, i);
        if (i & 1) std::swap(a, b);
    }
}
//= powers not ARGUMENT
LOOP void powers(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, 1 << i);
}
//= halves not ARGUMENT
LOOP void halves(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, i >> 1);
}
//= distance not ARGUMENT|BRANCH
LOOP void distance(float *a, int n, int m) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, abs(i - m));
}
//= ring not ARGUMENT
LOOP void ring(float *a, int n, int m) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, (i + 1) % m);
}
//= ring_by_reset not ARGUMENT|BRANCH
LOOP void ring_by_reset(float *a, int n, int m) {
    int k = 0;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, k);
        if (++k == m) k = 0;
    }
}
static const int odd[8] = {3, 1, 4, 1, 5, 9, 2, 6};
//= constant_table not ARGUMENT
LOOP void constant_table(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, odd[i & 7]);
}
//= own_pointers not MEMORY|ARGUMENT|RESULT
LOOP void own_pointers(int n) {
    float *p[8];
    for (int i = 0; i < n; i++) {
        cudaMalloc(&p[i & 7], 64);
        one<<<4, 128>>>(p[i & 7], i);
    }
}
//= freed_sometimes not BRANCH|RESULT
LOOP void freed_sometimes(int n, int m) {
    for (int i = 0; i < n; i++) {
        float *p;
        cudaMalloc(&p, 64);
        one<<<4, 128>>>(p, i);
        if (i > m) cudaFree(p);
    }
}
//= either_variable not MEMORY|ARGUMENT
LOOP void either_variable(float *a, int n, int m) {
    int x = 1, y = 2;
    for (int i = 0; i < n; i++) {
        int *p = i & m ? &x : &y;
        *p += 1;
        one<<<4, 128>>>(a, x);
    }
}
//= timed not CALL
LOOP void timed(float *a, int n) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, (int)clock());
}
//= curved not CALL|ARGUMENT
LOOP void curved(float *a, int n) {
    for (int i = 0; i < n; i++) scaled<<<4, 128>>>(a, 0, pow(1.5, i));
}
static __attribute__((noinline)) void maybe(float *a, int i) {
    if (i > 3) one<<<4, 128>>>(a, i);
}
//= sometimes_in_function not BRANCH
LOOP void sometimes_in_function(float *a, int n) {
    for (int i = 0; i < n; i++) maybe(a, i);
}
//= through_function_object not CALL|MEMORY
LOOP void through_function_object(float *a, int n, const std::function<int(int)> &f) {
    for (int i = 0; i < n; i++) one<<<4, 128>>>(a, f(i));
}
struct Base {
    virtual ~Base() = default;
    virtual void run(float *a, int i) = 0;
};
//= virtual_method not CALL|MEMORY
LOOP void virtual_method(Base *base, float *a, int n) {
    for (int i = 0; i < n; i++) {
        base->run(a, i);
        one<<<4, 128>>>(a, i);
    }
}
//= member_changed not MEMORY
LOOP void member_changed(Solver *solver) {
    for (int i = 0; i < solver->steps; i++) {
        solver->step(i);
        solver->offset += 2;
    }
}
//= until_error not RESULT|EXIT
LOOP void until_error(float *a) {
    int i = 0;
    while (cudaMemsetAsync(a + i, 0, 4, 0) == cudaSuccess) i++;
}
//= error_in_pointer not RESULT|ARGUMENT
LOOP void error_in_pointer(float *a, int n) {
    for (int i = 0; i < n; i++) {
        int code = cudaMemsetAsync(a, 0, 4, 0);
        one<<<4, 128>>>(a + code, i);
    }
}
//= error_collected not RESULT
LOOP int error_collected(float *a, int n) {
    int errors = 0;
    for (int i = 0; i < n; i++) errors |= cudaMemsetAsync(a + i, 0, 4, 0);
    return errors != 0;
}
//= worst_error not RESULT|BRANCH
LOOP int worst_error(float *a, int n) {
    int worst = 0;
    for (int i = 0; i < n; i++) {
        int error = cudaMemsetAsync(a + i, 0, 4, 0);
        if (error > worst) worst = error;
    }
    return worst;
}
//= collatz not ARGUMENT|EXIT|BRANCH
LOOP void collatz(float *a, unsigned n) {
    while (n != 1) {
        one<<<4, 128>>>(a, n);
        n = n & 1 ? 3 * n + 1 : n / 2;
    }
}
//= hashed not ARGUMENT
LOOP void hashed(float *a, int n) {
    uint32_t seed = 1;
    for (int i = 0; i < n; i++) {
        one<<<4, 128>>>(a, (int)seed);
        seed = seed * 1664525u + 1013904223u;
    }
}
//= two_steps not ARGUMENT
LOOP void two_steps(float *a, int n) {
    for (int i = 0, s = 1; i < n; i++, s = 3 - s) one<<<4 * s, 128>>>(a, 1);
}
//= exit_in_the_middle not EXIT
LOOP void exit_in_the_middle(float *a, float *b, int n) {
    int i = 0;
    while (true) {
        one<<<4, 128>>>(a, i);
        if (++i >= n) break;
        two<<<4, 128>>>(a, b, i);
    }
}
//= swapped_through_global not MEMORY
float *current, *next_one;
LOOP void swapped_through_global(int n) {
    for (int i = 0; i < n; i++) {
        two<<<4, 128>>>(current, next_one, i);
        std::swap(current, next_one);
    }
}
//= bytes_of_own_array not ARGUMENT
LOOP void bytes_of_own_array(float *a, int n) {
    int values[4] = {0, 1, 2, 3};
    for (int i = 0; i < n; i++) {
        cudaMemcpyAsync(a, values, sizeof values, cudaMemcpyHostToDevice, 0);
        values[2] += 7;
    }
}
//= narrow_sum not ARGUMENT
LOOP void narrow_sum(float *a, int n) {
    unsigned char k = 0;
    for (int i = 0; i < n; i++, k += 9) wide<<<4, 128>>>(a, k, 0);
}

//= main not CALL|RESULT
int main(int argc, char **) {
    float *a, *b;
    cudaMalloc(&a, 1 << 20);
    cudaMalloc(&b, 1 << 20);
    for (int i = 0; i < argc; i++) {
        if (cudaMemset(a, 0, 4) != cudaSuccess) return 1;
    }
    ten_by_three(a);
    ten_down_by_three(a);
    to_twelve_exactly(a);
    at_most(a);
    do_while_seven(a);
    do_while_down(a);
    left_at_thirteen(a);
    left_behind_thirteen(a);
    growing_dim3(a, 5);
    many_types(a, 5);
    three_structures(a, 5);
    both_ways(a, b, 5);
    through_own_pointer(a, 5);
    own_array(a, b, 5);
    changed_by_lambda(a, 5);
    after_host_loop(a, 5, 6);
    in_one_arm(a, b, 5, 9);
    behind_synchronise(a, 5);
    negative_offset(5);
    wrapping_argument(a, 5);
    solver_steps(a, 5);
    copies_with_growing_size(a, b, 5);
    return 0;
}
