;; Programs that never end, without a host call. Each counts at address 0.
(module
  (memory (export "memory") 512)
  (type $v (func))
  (table 1 funcref)
  (elem (i32.const 0) $tail_indirect)
  (func $count (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1))))
  (func (export "loop") (loop (call $count) (br 0)))
  (func (export "loop_value") (drop (i32.const 1) (loop (param i32) (result i32) (call $count) (br 0))))
  (func (export "nested") (loop (call $count) (block (block (br_table 2 2 (i32.const 0))))))
  (func $tail (export "tail") (call $count) (return_call $tail))
  (func $tail_indirect (export "tail_indirect") (call $count) (return_call_indirect (type $v) (i32.const 0)))
  (func (export "fill") (loop (call $count) (memory.fill (i32.const 16) (i32.const 1) (i32.load offset=8 (i32.const 0))) (br 0)))
  (func $recurse (param i32) (if (local.get 0) (then
    (call $recurse (i32.sub (local.get 0) (i32.const 1)))
    (call $recurse (i32.sub (local.get 0) (i32.const 1))))
    (else (call $count))))
  (func (export "recursion") (call $recurse (i32.const 200))))
