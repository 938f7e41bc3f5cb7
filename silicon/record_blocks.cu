// Record which SM runs each block of a grid, and when: the recordings that `warploom silicon` reads.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                       \
    do {                                                                                  \
        cudaError_t error = (call);                                                       \
        if (error != cudaSuccess) {                                                       \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

struct Block {
    uint32_t sm;
    uint64_t start_ns, end_ns;
    long long start_clock, end_clock;
};

__device__ uint64_t now_ns() {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void record(const uint32_t* asked, Block* blocks) {
    uint64_t start_ns = now_ns();
    long long start = clock64();
    uint32_t number = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    long long wanted = asked[number];
    while (clock64() - start < wanted) {
    }
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        uint32_t sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        blocks[number] = {sm, start_ns, now_ns(), start, clock64()};
    }
}

static uint32_t asked_cycles(const char* kind, uint32_t mean, uint32_t number) {
    if (!strcmp(kind, "uniform")) return mean;
    if (!strcmp(kind, "random")) return mean / 8 + rand() % (2 * mean - mean / 4);
    return number == 0 ? 100 * mean : mean;  // straggler
}

int main(int count, char** argument) {
    if (count != 8) {
        fprintf(stderr, "usage: %s uniform|random|straggler MEAN_CYCLES GX GY GZ THREADS SHARED > FILE.csv\n", argument[0]);
        return 2;
    }
    const char* kind = argument[1];
    uint32_t mean = atoi(argument[2]);
    dim3 grid(atoi(argument[3]), atoi(argument[4]), atoi(argument[5]));
    int threads = atoi(argument[6]), shared = atoi(argument[7]);
    uint32_t number = grid.x * grid.y * grid.z;
    std::vector<uint32_t> asked(number);
    srand(1);
    for (uint32_t n = 0; n < number; n++) asked[n] = asked_cycles(kind, mean, n);
    uint32_t* asked_there;
    Block* blocks_there;
    CHECK(cudaMalloc(&asked_there, number * sizeof(uint32_t)));
    CHECK(cudaMalloc(&blocks_there, number * sizeof(Block)));
    CHECK(cudaMemcpy(asked_there, asked.data(), number * sizeof(uint32_t), cudaMemcpyHostToDevice));
    CHECK(cudaFuncSetAttribute(record, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    int resident;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, record, threads, shared));
    for (int warm = 0; warm < 3; warm++) record<<<grid, threads, shared>>>(asked_there, blocks_there);
    CHECK(cudaDeviceSynchronize());
    std::vector<Block> blocks(number);
    CHECK(cudaMemcpy(blocks.data(), blocks_there, number * sizeof(Block), cudaMemcpyDeviceToHost));
    uint64_t first = UINT64_MAX;
    for (auto& block : blocks) first = std::min(first, block.start_ns);
    auto ranks = [&](auto key) {
        std::vector<uint32_t> order(number), rank(number);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(blocks[a]) < key(blocks[b]); });
        for (uint32_t n = 0; n < number; n++) rank[order[n]] = n;
        return rank;
    };
    auto starts = ranks([](const Block& b) { return std::make_pair(b.start_ns, b.start_clock); });
    auto ends = ranks([](const Block& b) { return std::make_pair(b.end_ns, b.end_clock); });
    printf("# grid=%u,%u,%u block=%d,1,1 dynamic_smem=%d resident_blocks_per_sm=%d\n", grid.x, grid.y, grid.z, threads, shared, resident);
    printf("block,bx,by,bz,sm,start_order,end_order,asked_cycles,start_ns,end_ns,start_clock,end_clock\n");
    for (uint32_t n = 0; n < number; n++) {
        const Block& b = blocks[n];
        printf("%u,%u,%u,%u,%u,%u,%u,%u,%llu,%llu,%lld,%lld\n", n, n % grid.x, n / grid.x % grid.y, n / grid.x / grid.y, b.sm, starts[n],
               ends[n], asked[n], (unsigned long long)(b.start_ns - first), (unsigned long long)(b.end_ns - first), b.start_clock, b.end_clock);
    }
    return 0;
}
