;; Bulk memory instructions of variable and of constant size.
(module
  (memory (export "memory") 80 81)
  (data $s "0123456789")
  (func (export "fill") (param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
  (func (export "copy") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
  (func (export "init") (param i32 i32 i32) (memory.init $s (local.get 0) (local.get 1) (local.get 2)))
  (func (export "drop") (data.drop $s))
  (func (export "fill_small") (param i32 i32) (memory.fill (local.get 0) (local.get 1) (i32.const 1000)))
  (func (export "fill_large") (param i32 i32) (memory.fill (local.get 0) (local.get 1) (i32.const 3000000)))
  (func (export "fill_huge") (param i32 i32) (memory.fill (local.get 0) (local.get 1) (i32.const -1))))
