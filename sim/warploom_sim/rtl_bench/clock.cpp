// The clock where C++ makes it (Verilator): runs the bench until it finishes.
#include "Vbench.h"
#include "verilated.h"

int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
#if VM_TRACE
    context.traceEverOn(true);
#endif
    Vbench bench{&context};
    while (!context.gotFinish()) {
        for (int level = 0; level < 2; ++level) {
            bench.clk = level;
            bench.eval();
            context.timeInc(1);
        }
    }
    bench.final();
    return 0;
}
