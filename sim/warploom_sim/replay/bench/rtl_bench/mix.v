// The hash of docs/replay/replay.md.
package replay_hash;
  function automatic [31:0] mix(input [31:0] word);
    reg [31:0] x;
    begin
      x = word ^ (word >> 16);
      x = x * 32'h7feb352d;
      x = x ^ (x >> 15);
      x = x * 32'h846ca68b;
      mix = x ^ (x >> 16);
    end
  endfunction
endpackage
