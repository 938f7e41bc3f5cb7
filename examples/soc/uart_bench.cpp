// The system's pins on Verilator: a clock, a reset, and the UART, whose text goes to the terminal.
//
//   bench CLOCKS 0|1        prints what the UART sends until it sends the byte 4, or for so many clocks;
//                           0: the GPU's interrupt is cut
//   bench CLOCKS 0|1 pty    moves bytes between the UART and a pseudoterminal, whose name it prints, until
//                           that is closed, or for so many clocks
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>
#include "Vtop.h"
#include "verilated.h"

namespace {
constexpr int clocks_a_bit = 4, end_of_text = 4;

// One line of a UART, a clock at a time: 8 bits, no parity, lowest first.
struct Receiver {
    int wait = 0, bits = 0, byte = 0;
    // The byte whose last bit was heard in this clock, or -1.
    int hear(bool level) {
        if (bits == 0) {
            if (!level) bits = 9, wait = clocks_a_bit + clocks_a_bit / 2;
            return -1;
        }
        if (--wait) return -1;
        wait = clocks_a_bit;
        if (--bits) return byte = byte >> 1 | level << 7, -1;
        return byte;
    }
};

struct Sender {
    int wait = 0, frame = 0;
    bool free() const { return frame == 0 && wait == 0; }
    void send(int byte) { frame = (0x100 | byte) << 1, wait = clocks_a_bit; }
    bool level() {
        if (free()) return true;
        bool now = frame & 1;
        if (--wait == 0) {
            frame >>= 1;
            if (frame) wait = clocks_a_bit;
        }
        return now;
    }
};

// The bridge's end of a pseudoterminal, a serial port for the host; its other end's name is printed.
int host_port() {
    int port = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    termios raw;
    if (port < 0 || grantpt(port) || unlockpt(port) || tcgetattr(port, &raw)) return -1;
    cfmakeraw(&raw);
    if (tcsetattr(port, TCSANOW, &raw)) return -1;
    std::printf("%s\n", ptsname(port));
    return port;
}
}  // namespace

int main(int count, char **arguments) {
    const long clocks = count > 1 ? std::atol(arguments[1]) : 0;
    setvbuf(stdout, nullptr, _IOLBF, 0);
    int port = count > 3 ? host_port() : -1;
    if (count > 3 && port < 0) return std::perror("bench"), 2;
    auto *top = new Vtop;
    Receiver receiver;
    Sender sender;
    top->serial_rx = 1;
    top->irq_wired = count < 3 || std::atoi(arguments[2]);
    for (long n = 0; n < clocks; n++) {
        top->rst = n < 1;  // as LiteX: one clock
        top->clk = 0;
        top->eval();
        top->clk = 1;
        top->eval();
        int byte = receiver.hear(top->serial_tx);
        top->serial_rx = sender.level();
        if (port < 0) {
            if (byte == end_of_text) return 0;
            if (byte >= 0) std::putchar(byte);
            continue;
        }
        unsigned char data = static_cast<unsigned char>(byte);
        // A host that does not listen loses bytes, as on a wire.
        if (byte >= 0 && write(port, &data, 1) < 0 && errno != EAGAIN) return 0;
        if (!sender.free() || n % clocks_a_bit) continue;
        ssize_t got = read(port, &data, 1);
        if (got == 0 || (got < 0 && errno != EAGAIN)) return 0;
        if (got == 1) sender.send(data);
    }
    std::printf("\nno end after %ld clocks\n", clocks);
    return 1;
}
