// Sends the launches of a file (one descriptor a line, hexadecimal), one in each cycle with room,
// from the second cycle after reset on. They are read one by one: any number fits.
module launch_source #(
    parameter BITS = 512
) (
    input clk,
    input rst,
    input room,
    output valid,
    output reg [BITS-1:0] payload,
    output reg [31:0] launches
);
  reg [32767:0] name;
  reg [BITS-1:0] line;
  // A launch stands in `payload`.
  reg armed;
  integer file, next, found;

  assign valid = armed & room;

  initial begin
    armed = 0;
    payload = 0;
    next = 0;
    if (!$value$plusargs("launches=%d", launches)) launches = 0;
    file = 0;
    if ($value$plusargs("launch_file=%s", name)) file = $fopen(name, "r");
  end

  always @(posedge clk)
    if (rst) begin
      armed <= 0;
      next = 0;
    end else if (!armed || room) begin
      // A file that ends early leaves launches unanswered: the run is given up.
      found = next < launches ? $fscanf(file, "%h", line) : 0;
      armed <= found == 1;
      if (found == 1) payload <= line;
      next = next + 1;
    end
endmodule
