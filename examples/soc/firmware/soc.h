/* What the firmware needs of LiteX's system: its UART, its interrupt, and where the GPU is. The
 * addresses are LiteX's own headers'. Nothing here needs a library. */
#ifndef SOC_H
#define SOC_H

#include <stdarg.h>
#include <stdint.h>
#include "csr.h"
#include "mem.h"
#include "soc_constants.h"

/* The assembler counts csrw as an extension of rv32im. */
__asm__(".option arch, +zicsr");

#define REGISTER(address) (*(volatile uint32_t *)(address))

static inline void put_char(char c)
{
    while (REGISTER(CSR_UART_TXFULL_ADDR)) {}
    REGISTER(CSR_UART_RXTX_ADDR) = (unsigned char)c;
}

static inline void put_number(uint32_t value)
{
    if (value > 9) put_number(value / 10);
    put_char((char)('0' + value % 10));
}

/* Print text with %u, %d and %s. */
static inline void say(const char *text, ...)
{
    va_list values;
    va_start(values, text);
    for (; *text; text++) {
        if (*text != '%') {
            put_char(*text);
        } else if (*++text == 's') {
            for (const char *s = va_arg(values, const char *); *s; s++) put_char(*s);
        } else {
            uint32_t value = va_arg(values, uint32_t);
            if (*text == 'd' && (int32_t)value < 0) {
                put_char('-');
                value = 0 - value;
            }
            put_number(value);
        }
    }
    va_end(values);
}

/* Let the GPU's event through LiteX's event manager. */
static inline void event_enable(void)
{
    REGISTER(CSR_GPU_EV_ENABLE_ADDR) = 1;
}

/* Let these interrupts through, or none; VexRiscv's own register 0xBC0. */
static inline void irq_mask(uint32_t mask)
{
    __asm__ volatile("csrw 0xBC0, %0" ::"r"(mask));
    if (mask) __asm__ volatile("csrsi mstatus, 8");
}

#endif
