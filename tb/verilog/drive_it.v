// A host, two SMs and a core around warploom_front_end_packed of `tiny`: a launch from the first
// access over AXI4-Lite to its final record, then a task. docs/host/drive_it.md explains it.
module bench;
  localparam SMS = 2; reg clk = 0, rst = 1;
  always #5 clk = ~clk;
  initial #20000 $finish(0);  // never reached, unless something hangs
  integer cycle = 0, k;
  always @(posedge clk) cycle <= cycle + 1;

  // The bus: one access at a time. A request stands until it is taken.
  reg [15:0] address = 0;
  reg [31:0] data = 0, word;
  reg awvalid = 0, wvalid = 0, arvalid = 0;
  wire awready, wready, bvalid, arready, rvalid, irq, start_valid, opened;
  wire [1:0] bresp, rresp;
  wire [31:0] rdata;
  task write(input [15:0] to, input [31:0] value);
    begin
      address <= to; data <= value; awvalid <= 1; wvalid <= 1;
      @(posedge clk);
      while (!bvalid) begin
        if (awready) awvalid <= 0;  // AW and W are taken apart
        if (wready) wvalid <= 0;
        @(posedge clk);
      end
      if (bresp != 0) $display("%0d: write of %h: refused", cycle, to);
    end
  endtask
  task read(input [15:0] from);  // the answer is in `word`
    begin
      address <= from; arvalid <= 1;
      @(posedge clk);
      while (!rvalid) begin if (arready) arvalid <= 0; @(posedge clk); end
      word = rdata; if (rresp != 0) $display("%0d: read of %h: refused", cycle, from);
    end
  endtask

  // The SMs: each takes a block in its offer's cycle, runs its blocks one after the other for 24 or
  // 16 cycles each, and reports them: OK, or KILLED (2) while `kill` has the bit of their stream.
  wire [83:0] block;  // [2:0] stream, [4:3] slot, [20:5] position in x: the head of front_end.v
  wire [7:0] kill; wire [4*SMS-1:0] report; wire [SMS-1:0] offer, report_valid, report_ready;
  genvar n;
  generate for (n = 0; n < SMS; n = n + 1) begin : sm
    reg [4:0] held [0:3]; reg [1:0] first = 0, next = 0;  // slots and streams, in order
    reg [2:0] count = 0; reg [4:0] left = 23 - 8 * n;  // blocks; cycles of the first one
    wire killed = left != 0 & kill[held[first][2:0]], taken = report_valid[n] & report_ready[n];
    assign report_valid[n] = count != 0 & (left == 0 | killed);
    assign report[4*n +: 4] = {killed, 1'b0, held[first][4:3]};
    always @(posedge clk) begin
      if (offer[n]) held[next] <= block[4:0];
      next <= next + offer[n]; first <= first + taken; count <= count + offer[n] - taken;
      if (taken) left <= 23 - 8 * n; else if (count != 0 & !report_valid[n]) left <= left - 1;
      if (offer[n]) $display("%0d: SM %0d takes block %0d", cycle, n, block[20:5]);
      if (taken) $display("%0d: SM %0d reports a block", cycle, n);
    end
  end endgenerate
  // Core 0 of execution unit 0: a part takes it 4 cycles; then it stands at the barrier.
  reg [2:0] part = 0; reg arrived = 0;
  always @(posedge clk) part <= start_valid ? 4 : part == 0 ? 0 : part - 1;
  always @(posedge clk) arrived <= !opened & (arrived | part == 1);
  warploom_front_end_packed core (.clk(clk), .rst(rst), .irq(irq),
    .s_axil_awaddr(address), .s_axil_awprot(3'd0), .s_axil_awvalid(awvalid),
    .s_axil_awready(awready), .s_axil_wdata(data), .s_axil_wstrb(4'hf), .s_axil_wvalid(wvalid),
    .s_axil_wready(wready), .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(1'b1),
    .s_axil_araddr(address), .s_axil_arprot(3'd0), .s_axil_arvalid(arvalid),
    .s_axil_arready(arready), .s_axil_rdata(rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid),
    .s_axil_rready(1'b1), .block(block), .words(), .offer(offer), .kill(kill), .report(report),
    .report_valid(report_valid), .report_ready(report_ready), .read(36'd0), .read_valid(2'd0),
    .cores_start_valid(start_valid), .cores_start_ready(1'b1), .cores_arrived({3'd0, arrived}),
    .cores_failed(4'd0), .cores_failure(16'd0), .cores_result(35'd0), .cores_result_valid(1'b0),
    .cores_barrier_open(opened), .read_ready(), .data(), .data_valid(), .cores_start(),
    .cores_code(), .cores_arguments(), .cores_result_ready(), .cores_cancel());

  task command(input [447:0] words);  // T0 to T13 of section 0, the doorbell, the answer
    begin
      for (k = 0; k < 14; k = k + 1) write(16'h1080 + 4 * k[15:0], words[32*k +: 32]);
      write(16'h1000, 1);
      $display("%0d: rang the doorbell", cycle);
      word = 1; while (word != 0) begin repeat (3) @(posedge clk); read(16'h1000); end
      read(16'h100c); $display("%0d: ERROR %h", cycle, word);
    end
  endtask
  always begin
    repeat (4) @(posedge clk); rst <= 0;
    read(16'h0000); $display("%0d: ID %h", cycle, word);
    read(16'h0010); $display("%0d: %0d SMs", cycle, word[15:0]);
    write(16'h0020, 1);  // IRQ_ENABLE: a record raises irq
    // T0: LAUNCH. T6 to T8: a grid of 3 x 1 x 1 blocks, each of 8 x 1 x 1 threads.
    command({160'd0, 32'h0040_0808, 32'h0001_0001, 32'd3, 160'd0, 32'd2});
    read(16'h1010); $display("%0d: ticket %0d", cycle, word);
    while (!irq) @(posedge clk);
    read(16'h0040); $display("%0d: record of ticket %0d", cycle, word);
    read(16'h0044); $display("%0d: code %0d, fate %0d", cycle, word[7:0], word[10:8]);
    write(16'h0034, 1);  // RECORD_POP
    command({320'd0, 32'd5, 32'd1, 32'd0, 32'd1});  // T0: RUN. T2 and T3: one part, of 5 elements.
    read(16'h1004); $display("%0d: STATUS %h", cycle, word);
    $finish(0);
  end
endmodule
