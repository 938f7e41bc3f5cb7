/* Reset at 0: no data is copied, so the firmware has constants and zeroed variables alone. */
    .option arch, +zicsr
    .section .start, "ax"
    .global start
start:
    la sp, stack_end
    la a0, interrupt
    csrw mtvec, a0
    la a0, zeroed_begin
    la a1, zeroed_end
1:  bgeu a0, a1, 2f
    sw zero, 0(a0)
    addi a0, a0, 4
    j 1b
2:  li a0, 0x800 /* external interrupts; mstatus lets them through later */
    csrw mie, a0
    call main
3:  j 3b
