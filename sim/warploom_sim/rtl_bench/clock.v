// The clock where the simulator itself makes it (Icarus).
module clock;
  reg clk = 0;
  always #1 clk = ~clk;
  bench bench (.clk(clk));
endmodule
