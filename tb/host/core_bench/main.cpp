// Runs one of the benches: its name, then name=number.
#include "any_start.h"
#include "commands.h"
#include "flips.h"
#include "loop_stops.h"
#include "loops.h"
#include "misbehaving_sms.h"
#include "orders.h"
#include "soft_resets.h"
#include "storm.h"
// The C driver itself.
#include "warploom.c"
#include "warploom_kept.c"

int main(int count, char** words) {
    static const std::map<std::string, void (*)(const Arguments&)> benches = {
        {"any_start", run_any_start},
        {"commands", run_commands},
        {"flips", run_flips},
#ifdef WARPLOOM_LOOP_TEMPLATES
        {"loop_stops", run_loop_stops},
        {"loops", run_loops},
        {"one_loop", run_one_loop},
        {"template_writes", run_template_writes},
#endif
        {"misbehaving_sms", run_misbehaving_sms},
        {"orders", run_orders},
        {"soft_resets", run_soft_resets},
        {"storm", run_storm},
    };
    Verilated::commandArgs(count, words);
    try {
        benches.at(words[1])(Arguments(count - 1, words + 1));
    } catch (const Failure& failure) {
        printf("{\"failure\": \"%s\"}\n", failure.what());
    }
    return 0;
}
