// The host of docs/preemption/preemption.md: it keeps the low priority filled, and sends urgent
// launches one at a time, each a distance after the pop of the record of the one before. It pops a
// record when `oldest` shows it. It sees the ports of the hardware alone.
//
// Launches are read from two files one by one, a descriptor a line; at its end a file begins again.
// Each urgent launch takes a distance from a third one.
module preempt_host #(
    parameter BITS = 512
) (
    input clk,
    input rst,
    input [63:0] cycle,
    // Of each side's priority: a launch that is sent in this cycle finds room.
    input low_room,
    input urgent_room,
    // Ticket of the record that is shown; 0: none is.
    input [31:0] oldest,
    output valid,
    // The launch that is sent is an urgent one.
    output urgent,
    output [BITS-1:0] payload,
    output pop,
    // All urgent launches have ended, and all other launches that were sent.
    output done
);
  localparam [63:0] NEVER = {64{1'b1}};

  reg [32767:0] name;
  reg [BITS-1:0] low_launch, urgent_launch;
  integer low_file, urgent_file, distances, found;
  reg [31:0] count, ended, sent, records, awaited;
  reg [63:0] arrives, distance;
  // A record was popped in the cycle before: `oldest` still shows it.
  reg popped;

  assign pop = !popped && oldest != 0;
  wire urgent_ends = pop && oldest == awaited;
  wire due = arrives <= cycle;
  wire over = ended + urgent_ends == count;
  assign urgent = due;
  assign valid = !rst && (due ? urgent_room : low_room && !over);
  assign payload = due ? urgent_launch : low_launch;
  assign done = ended == count && records == sent;

  task next_low;
    begin
      found = $fscanf(low_file, "%h", low_launch);
      if (found != 1) begin
        found = $rewind(low_file);
        found = $fscanf(low_file, "%h", low_launch);
      end
    end
  endtask

  task next_urgent;
    begin
      found = $fscanf(urgent_file, "%h", urgent_launch);
      if (found != 1) begin
        found = $rewind(urgent_file);
        found = $fscanf(urgent_file, "%h", urgent_launch);
      end
    end
  endtask

  initial begin
    {ended, sent, records, awaited, popped} = 0;
    if (!$value$plusargs("arrivals=%d", count)) count = 0;
    low_file = $fopen("low.hex", "r");
    urgent_file = $fopen("urgent.hex", "r");
    distances = $fopen("distances.txt", "r");
    next_low;
    next_urgent;
    found = $fscanf(distances, "%d", distance);
    arrives = 1 + distance;
  end

  always @(posedge clk)
    if (!rst) begin
      popped <= pop;
      records <= records + pop;
      if (urgent_ends) begin
        ended <= ended + 1;
        awaited <= 0;
        // After the last one there is no distance any more.
        found = $fscanf(distances, "%d", distance);
        arrives <= found == 1 ? cycle + 1 + distance : NEVER;
      end
      if (valid) begin
        sent <= sent + 1;
        if (urgent) begin
          awaited <= sent + 1;
          arrives <= NEVER;
          next_urgent;
        end else next_low;
      end
    end
endmodule
