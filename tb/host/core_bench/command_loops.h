// LAUNCHes among random commands that are a LOOP in their place: one template, launched once. Without
// loops there is none.
#ifndef COMMAND_LOOPS_H
#define COMMAND_LOOPS_H

#include "launch_commands.h"
#include "loop_books.h"

class CommandLoops {
  public:
    explicit CommandLoops(unsigned section) : section_(section) {}

#ifdef WARPLOOM_LOOP_TEMPLATES
    static std::vector<uint32_t> unknown_opcodes() { return {3, 9, 12, 14, 200, 255}; }
    static std::vector<uint32_t> with_results(std::vector<uint32_t> offsets) {
        offsets.push_back(WARPLOOM_SECTION_RESULT2_OFFSET);
        offsets.push_back(WARPLOOM_SECTION_RESULT3_OFFSET);
        return offsets;
    }
    static bool failed(unsigned code) { return code == WARPLOOM_ERROR_LAUNCH_FAILED; }
    // A section at least must not loop: it lets streams go on for which the others wait.
    bool chooses(Random& random, const Launches& launches) const {
        return launches.loops + 1 < SECTIONS && random.chance(0.3);
    }
    // Turn a launch's words into a LOOP's; return the words of its template, by their addresses.
    std::map<uint32_t, uint32_t> turn(Command& c, Random& random) const {
        uint32_t slot = section_ - std::min(section_, FIRST_LOOP_SECTION), last = slot;
        std::map<uint32_t, uint32_t> written;
        c.loops = true;
        if (section_ < FIRST_LOOP_SECTION) {
            refuse(c, WARPLOOM_ERROR_NO_LOOP, 0);
        } else {
            c.words[STEP_WORD] = 0;
            for (auto [number, data] : c.words) {
                bool there = number < WAIT_WORD + LAUNCH_WAITS;
                if (there) written[template_address(slot, 0, number)] = data;
            }
        }
        if (random.chance(0.1)) {
            last |= WARPLOOM_LOOP_TEMPLATES;
            if (section_ >= FIRST_LOOP_SECTION) refuse(c, WARPLOOM_ERROR_FIELD_RANGE, 2);
        }
        c.words = {{0, WARPLOOM_OPCODE_LOOP | random.word() << 8}, {1, 1},
                   {2, slot | last << 8 | random.word() << 16}};
        return written;
    }

  private:
    static void refuse(Command& c, unsigned code, unsigned argument) {
        c.code = code, c.argument = argument;
        c.ahead = false;
    }
#else
    static std::vector<uint32_t> unknown_opcodes() { return {3, 4, 9, 12, 14, 200, 255}; }
    static std::vector<uint32_t> with_results(std::vector<uint32_t> offsets) { return offsets; }
    static bool failed(unsigned) { return false; }
    bool chooses(Random&, const Launches&) const { return false; }
    std::map<uint32_t, uint32_t> turn(Command&, Random&) const { return {}; }

  private:
#endif
    unsigned section_;
};

#endif
