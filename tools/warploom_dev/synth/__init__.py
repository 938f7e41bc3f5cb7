"""Area and clock rate of the blocks on an ECP5 FPGA, held against committed figures."""
