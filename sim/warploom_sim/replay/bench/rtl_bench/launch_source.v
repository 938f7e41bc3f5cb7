// Sends the launches of a file (an arrival and a descriptor a line, hexadecimal), one in each cycle
// with room, from the second cycle after reset on, and none before its arrival. They are read one
// by one: any number fits.
module launch_source #(
    parameter BITS = 512
) (
    input clk,
    input rst,
    input [63:0] cycle,
    input room,
    output valid,
    // The next launch has not arrived.
    output early,
    output reg [BITS-1:0] payload,
    output reg [31:0] launches
);
  reg [32767:0] name;
  reg [BITS-1:0] line;
  reg [63:0] line_arrival, arrival;
  // A launch stands in `payload`.
  reg armed;
  integer file, next, found;

  assign early = armed & arrival > cycle;
  assign valid = armed & room & !early;

  initial begin
    armed = 0;
    payload = 0;
    arrival = 0;
    next = 0;
    if (!$value$plusargs("launches=%d", launches)) launches = 0;
    file = 0;
    if ($value$plusargs("launch_file=%s", name)) file = $fopen(name, "r");
  end

  always @(posedge clk)
    if (rst) begin
      armed <= 0;
      next = 0;
    end else if (!armed || valid) begin
      // A file that ends early leaves launches unanswered: the run is given up.
      found = next < launches ? $fscanf(file, "%h %h", line_arrival, line) : 0;
      armed <= found == 2;
      if (found == 2) begin
        payload <= line;
        arrival <= line_arrival;
      end
      next = next + 1;
    end
endmodule
