// The clock where C++ makes it (Verilator): runs the bench until it finishes.
#include "Vbench.h"
#include "verilated.h"

#if VM_TRACE
#include <cstdlib>
#include <string>
#if VM_TRACE_FST
#include "verilated_fst_c.h"
using WaveFile = VerilatedFstC;
#else
#include "verilated_vcd_c.h"
using WaveFile = VerilatedVcdC;
#endif

// Verilator ignores $dumpoff: the waveform of some time steps is written from here.
class Waves {
  public:
    Waves(VerilatedContext& context, Vbench& bench)
        : name(value(context, "waves", "")),
          from(std::stoull(value(context, "waves_from", "0"))),
          until(std::stoull(value(context, "waves_until", "18446744073709551615"))) {
        if (!name.empty()) bench.trace(&file, 99);
    }

    // Write the signals at a time step; open and close the file when its time has come.
    void dump(uint64_t time) {
        if (name.empty()) return;
        if (time == from) file.open(name.c_str());
        if (time == until) file.close();
        if (time >= from && time < until) file.dump(time);
    }

    void close() { file.close(); }

  private:
    static std::string value(VerilatedContext& context, const std::string& key,
                             const std::string& otherwise) {
        const std::string prefix = key + "=";
        const std::string found = context.commandArgsPlusMatch(prefix.c_str());
        return found.empty() ? otherwise : found.substr(1 + prefix.size());
    }

    WaveFile file;
    std::string name;
    uint64_t from, until;
};
#endif

int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
#if VM_TRACE
    context.traceEverOn(true);
#endif
    Vbench bench{&context};
#if VM_TRACE
    Waves waves{context, bench};
#endif
    while (!context.gotFinish()) {
        for (int level = 0; level < 2; ++level) {
            bench.clk = level;
            bench.eval();
#if VM_TRACE
            waves.dump(context.time());
#endif
            context.timeInc(1);
        }
    }
    bench.final();
#if VM_TRACE
    waves.close();
#endif
    return 0;
}
