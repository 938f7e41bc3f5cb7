// The clock where the simulator itself makes it (Icarus), and the waveform of some time steps.
module clock;
  reg clk = 0;
  always #1 clk = ~clk;
  bench bench (.clk(clk));
`ifdef WAVES
  reg [32767:0] waves;
  reg [63:0] from, ends;
  initial if ($value$plusargs("waves=%s", waves)) begin
    if (!$value$plusargs("waves_from=%d", from)) from = 0;
    if (!$value$plusargs("waves_until=%d", ends)) ends = 64'hffff_ffff_ffff_ffff;
    #(from);
    $dumpfile(waves);
    $dumpvars(0, bench);
    #(ends - from);
    $dumpoff;
  end
`endif
endmodule
