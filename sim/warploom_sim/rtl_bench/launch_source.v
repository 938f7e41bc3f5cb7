// Sends the launches of a file (one descriptor a line, hexadecimal), one in each cycle with room,
// from the second cycle after reset on.
module launch_source #(
    parameter BITS = 512,
    parameter PLACES = 4096
) (
    input clk,
    input rst,
    input room,
    output valid,
    output reg [BITS-1:0] payload,
    output reg [31:0] launches
);
  reg [BITS-1:0] memory [0:PLACES-1];
  reg [32767:0] file;
  // A launch stands in `payload`.
  reg armed;
  integer next;

  assign valid = armed & room;

  initial begin
    armed = 0;
    payload = 0;
    next = 0;
    if (!$value$plusargs("launches=%d", launches)) launches = 0;
    if ($value$plusargs("launch_file=%s", file)) $readmemh(file, memory, 0, launches - 1);
  end

  always @(posedge clk)
    if (rst) begin
      armed <= 0;
      next = 0;
    end else if (!armed || room) begin
      armed <= next < launches;
      if (next < launches) payload <= memory[next];
      next = next + 1;
    end
endmodule
