;; Legacy exception handling, construct by construct. Each export (i32) -> i32 is
;; called with small numbers: $maybe throws $t for 1, $u for 2, $own for 3 and
;; $none for 4. $log tells the order of events.
(module
  (type $ii (func (param i32) (result i32)))
  (type $i_ii (func (param i32) (result i32 i32)))
  (type $ii_i (func (param i32 i32) (result i32)))
  (tag $t (export "__cpp_exception") (param i32))
  (tag $u (export "__c_longjmp") (param i32))
  (tag $own (param i32))
  (tag $none)
  (global $log (export "log") (mut i32) (i32.const 0))
  (memory 1)
  (table 4 funcref)
  (table $x 1 externref)
  (elem (i32.const 0) $maybe $three $wide)

  (func $note (param i32)
    (global.set $log (i32.add (i32.mul (global.get $log) (i32.const 31)) (local.get 0))))
  (func $maybe (type $ii)
    (call $note (i32.const 1))
    (if (i32.eq (local.get 0) (i32.const 1)) (then (throw $t (i32.const 7))))
    (if (i32.eq (local.get 0) (i32.const 2)) (then (throw $u (i32.const 8))))
    (if (i32.eq (local.get 0) (i32.const 3)) (then (throw $own (i32.const 9))))
    (if (i32.eq (local.get 0) (i32.const 4)) (then (throw $none)))
    (i32.add (local.get 0) (i32.const 100)))
  (func $three (type $ii) (drop (call $maybe (local.get 0))) (i32.const 3))

  ;; a local set in the body keeps its value in the handler
  (func (export "locals") (param $p i32) (result i32) (local $x i32)
    (try
      (do (local.set $x (i32.const 1)) (drop (call $maybe (local.get $p))) (local.set $x (i32.const 2)))
      (catch_all (local.set $x (i32.add (local.get $x) (i32.const 50)))))
    (local.get $x))

  (func (export "payloads") (param $p i32) (result i32)
    (i32.add (i32.const 1000)
      (try (result i32)
        (do (call $maybe (local.get $p)))
        (catch $t)
        (catch $u (i32.const 20) (i32.add))
        (catch $own (i32.const 30) (i32.mul))
        (catch $none (i32.const 40)))))

  (func (export "some_fit") (param $p i32) (result i32)
    (try (result i32)
      (do (try (result i32) (do (call $maybe (local.get $p))) (catch $u (i32.const 11) (i32.add))))
      (catch $t (i32.const 12) (i32.add))))

  (func (export "catch_all") (param $p i32) (result i32)
    (try (result i32)
      (do (call $maybe (local.get $p)))
      (catch $t (i32.const 5) (i32.add))
      (catch_all (i32.const 6))))

  (func (export "uncaught") (param $p i32) (result i32) (call $three (local.get $p)))

  (func (export "indirect") (param $p i32) (result i32)
    (try (result i32)
      (do (i32.add
        (call_indirect (type $ii) (local.get $p) (i32.const 1))
        (call_indirect (type $ii) (i32.const 5) (i32.const 0))))
      (catch $t (i32.const 1) (i32.add))
      (catch_all (i32.const 99))))

  ;; rethrow, from the clause itself, from a block in it, after another
  ;; exception came and went, and of the outer exception from an inner handler
  (func (export "rethrow") (param $p i32) (result i32)
    (try $o (result i32)
      (do (try $i (result i32)
        (do (call $maybe (local.get $p)))
        (catch $t (call $note) (rethrow $i))
        (catch $none (block (br_if 0 (i32.const 0)) (rethrow $i)) (i32.const 1))
        (catch_all
          (call $note (i32.const 5))
          (try (do (throw $t (i32.const 3))) (catch $t (call $note)))
          (rethrow $i))))
      (catch $u (call $note) (global.get $log))
      (catch $t (call $note) (i32.add (global.get $log) (i32.const 10000)))
      (catch $none (i32.const 44))
      (catch_all (i32.const 45))))
  (func (export "rethrow_outer") (param $p i32) (result i32)
    (try (result i32)
      (do (try $o (result i32)
        (do (call $maybe (local.get $p)))
        (catch_all
          (try $i (result i32)
            (do (throw $u (i32.const 77)))
            (catch $u (call $note)
              (try (result i32) (do (rethrow $o)) (catch $none (i32.const 8) (rethrow $o))))))))
      (catch $t (i32.const 1) (i32.add))
      (catch $u (i32.const 2) (i32.add))
      (catch $none (i32.const 3))))
  (func (export "rethrow_both") (param $p i32) (result i32)
    (try (result i32)
      (do (try $o (result i32)
        (do (call $maybe (local.get $p)))
        (catch_all
          (try $i
            (do (throw $u (i32.const 77)))
            (catch_all (if (i32.eq (local.get $p) (i32.const 3)) (then (rethrow $i)))))
          (rethrow $o))))
      (catch $t (i32.const 1) (i32.add))
      (catch $u (i32.const 2) (i32.add))
      (catch_all (i32.const 3))))
  (func (export "rethrow_inner") (param $p i32) (result i32)
    (try (result i32)
      (do (try $o (result i32)
        (do (call $maybe (local.get $p)))
        (catch $t
          (try $i (result i32)
            (do (drop (call $maybe (i32.const 2))) (i32.const 0))
            (catch_all (call $note (i32.const 6)) (rethrow $i)))
          (i32.add))))
      (catch $t (i32.const 1) (i32.add))
      (catch $u (i32.const 2) (i32.add))))
  (func (export "rethrow_loop") (param $p i32) (result i32) (local $n i32)
    (loop $l (result i32)
      (try (result i32)
        (do (try $i (result i32)
          (do (call $maybe (local.get $p)))
          (catch $t (local.set $n (i32.add (local.get $n))) (rethrow $i))
          (catch_all (local.set $n (i32.add (local.get $n) (i32.const 1))) (rethrow $i))))
        (catch $t
          (local.set $p (i32.add (local.get $p) (i32.const 1)))
          (br_if $l (i32.lt_s (local.get $n) (i32.const 30))))
        (catch_all
          (br_if $l (i32.lt_s (local.get $n) (i32.const 30)))
          (local.get $n)))))

  ;; delegate: to an enclosing try past another, to a plain block, to the
  ;; caller, to the try that is nearest anyway, and from within a handler
  (func (export "delegate_try") (param $p i32) (result i32)
    (try $o (result i32)
      (do (try $m (result i32)
        (do (try (result i32) (do (call $maybe (local.get $p))) (delegate $o)))
        (catch_all (i32.const -1))))
      (catch $t (i32.const 40) (i32.add))
      (catch_all (i32.const 41))))
  (func (export "delegate_block") (param $p i32) (result i32)
    (try $o (result i32)
      (do (block $b (result i32)
        (try $m (result i32)
          (do (try (result i32) (do (call $maybe (local.get $p))) (delegate $b)))
          (catch_all (i32.const -1)))))
      (catch $t (i32.const 42) (i32.add))
      (catch_all (i32.const 43))))
  (func $to_caller (param $p i32) (result i32)
    (block $b (result i32)
      (try (result i32)
        (do (try (result i32) (do (call $maybe (local.get $p))) (delegate 2)))
        (catch_all (i32.const -2)))))
  (func (export "delegate_caller") (param $p i32) (result i32)
    (try (result i32)
      (do (call $to_caller (local.get $p)))
      (catch $t (i32.const 60) (i32.add))
      (catch $u (i32.const 70) (i32.add))))
  (func (export "delegate_nearest") (param $p i32) (result i32)
    (try (result i32)
      (do (try (result i32) (do (call $maybe (local.get $p))) (delegate 0)))
      (catch_all (i32.const 80))))
  (func (export "delegate_handler") (param $p i32) (result i32)
    (try $o (result i32)
      (do (try $h (result i32)
        (do (throw $t (i32.const 1)))
        (catch $t
          (try (result i32) (do (call $maybe (local.get $p))) (delegate $h))
          (i32.add))))
      (catch $t (i32.const 90) (i32.add))
      (catch $u (i32.const 91) (i32.add))
      (catch_all (i32.const 92))))
  (func (export "delegate_chain") (param $p i32) (result i32)
    (try $o (result i32)
      (do (try $a (result i32)
        (do (try $b (result i32)
          (do (try (result i32) (do (call $maybe (local.get $p))) (delegate $b)))
          (delegate $o)))
        (catch_all (i32.const -3))))
      (catch $own (i32.const 95) (i32.add))
      (catch_all (i32.const 96))))
  (func (export "delegate_catching") (param $p i32) (result i32)
    (try $o (result i32)
      (do (try (result i32)
        (do (try (result i32)
          (do (try (result i32) (do (call $maybe (local.get $p))) (catch $t (i32.const 1) (i32.add))))
          (delegate $o)))
        (catch_all (i32.const -4))))
      (catch $u (i32.const 97) (i32.add))
      (catch_all (i32.const 98))))

  ;; loops, branches to and through tries
  (func (export "loop") (param $p i32) (result i32) (local $i i32) (local $s i32)
    (block $out
      (loop $l
        (br_if $out (i32.ge_s (local.get $i) (i32.const 10)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (try
          (do
            (br_if $l (i32.eq (i32.rem_s (local.get $i) (i32.const 3)) (i32.const 0)))
            (local.set $s (i32.add (local.get $s) (call $maybe (i32.rem_s (local.get $i) (i32.const 5))))))
          (catch $t (local.set $s (i32.add (local.get $s))) (br $l))
          (catch $u (drop) (br_table $l $out $l (i32.eq (local.get $p) (local.get $i))))
          (catch_all (br_if $out (i32.eq (local.get $p) (local.get $i)))))
        (br $l)))
    (local.get $s))
  (func (export "br_table") (param $p i32) (result i32) (local $x i32)
    (block $c (block $b (block $a
      (try $t
        (do
          (try
            (do (br_table $a $b $t $c 0 (local.get $p)))
            (catch_all (local.set $x (i32.const 1000))))
          (local.set $x (i32.add (local.get $x) (call $maybe (i32.sub (local.get $p) (i32.const 3))))))
        (catch_all (br_table $c $b $a $t (i32.sub (local.get $p) (i32.const 4)))))
      (return (i32.add (local.get $x) (i32.const 1))))
      (return (i32.const 2)))
      (return (i32.const 3)))
    (i32.const 4))
  (func (export "br_value") (param $p i32) (result i32)
    (i32.add (i32.const 500)
      (try $t (result i32)
        (do
          (drop (br_if $t (i32.const 1) (i32.eq (local.get $p) (i32.const 6))))
          (try (result i32)
            (do (br_if $t (call $maybe (local.get $p)) (i32.eq (local.get $p) (i32.const 7))))
            (catch $t (br $t))
            (catch_all (i32.const 2))))
        (catch_all (br $t (i32.const 3))))))
  (func (export "return") (param $p i32) (result i32)
    (try
      (do (return (call $maybe (local.get $p))))
      (catch $t (return (i32.add (i32.const 1))))
      (catch_all))
    (i32.const 9))
  (func (export "if_else") (param $p i32) (result i32)
    (if (result i32) (i32.and (local.get $p) (i32.const 1))
      (then (try (result i32) (do (call $maybe (local.get $p))) (catch $t)  (catch_all (i32.const 61))))
      (else
        (try (result i32)
          (do (if (result i32) (local.get $p) (then (call $maybe (local.get $p))) (else (throw $none))))
          (catch $none (i32.const 62))
          (catch $u (i32.const 63) (i32.add))))))

  ;; operands below a throw and below a call are dropped
  (func (export "operands") (param $p i32) (result i32)
    (try (result i32)
      (do
        (i32.add (i32.const 3)
          (i32.mul (i32.const 5)
            (block (result i32)
              (i32.add (i32.const 7)
                (if (result i32) (local.get $p) (then (call $maybe (local.get $p))) (else (throw $t (i32.const 64)))))))))
      (catch $t (i32.const 1) (i32.add))
      (catch_all (i32.const 65))))

  ;; a try without clauses, an empty one, and nests of handlers
  (func (export "no_clause") (param $p i32) (result i32)
    (try (result i32)
      (do (try (do)) (try (result i32) (do (call $maybe (local.get $p)))))
      (catch $u (i32.const 66) (i32.add))))
  (func (export "in_handlers") (param $p i32) (result i32)
    (try (result i32)
      (do (throw $none))
      (catch $none
        (try (result i32)
          (do (call $maybe (local.get $p)))
          (catch $t
            (try (result i32)
              (do (drop (call $maybe (i32.const 2))) (i32.const 0))
              (catch_all (i32.const 10)))
            (i32.add))
          (catch_all
            (try (result i32) (do (call $maybe (i32.sub (local.get $p) (i32.const 1)))) (catch $t (i32.const 20) (i32.add))))))
      (catch_all (i32.const 67))))
  (func (export "throw_in_handler") (param $p i32) (result i32)
    (try $o (result i32)
      (do (try $i (result i32)
        (do (call $maybe (local.get $p)))
        (catch $t (throw $u (i32.add (i32.const 1))))
        (catch $u (throw $t (i32.add (i32.const 1))))
        (catch_all (throw $none))))
      (catch $t (i32.const 200) (i32.add))
      (catch $u (i32.const 300) (i32.add))
      (catch_all (i32.const 400))))

  ;; functions of all result types are unwound
  (func $wide (param $p i32) (result i64) (drop (f64.const 1.5)) (i64.extend_i32_s (call $three (local.get $p))))
  (func $f32 (param $p i32) (result f32) (f32.convert_i32_s (i32.wrap_i64 (call $wide (local.get $p)))))
  (func $f64 (param $p i32) (result f64) (f64.promote_f32 (call $f32 (local.get $p))))
  (func $v128 (param $p i32) (result v128) (f64x2.splat (call $f64 (local.get $p))))
  (func $ref (param $p i32) (result funcref) (drop (call $v128 (local.get $p))) (table.get 0 (i32.const 0)))
  (func $ext (param $p i32) (result externref) (drop (call $ref (local.get $p))) (table.get $x (i32.const 0)))
  (func $two (type $i_ii) (drop (call $ext (local.get 0))) (i32.const 1) (i32.const 2))
  (func (export "results") (param $p i32) (result i32)
    (try (result i32)
      (do (call $two (local.get $p)) (i32.add))
      (catch $t (i32.const 68) (i32.add))
      (catch_all (i32.const 69))))

  ;; a try with parameters and several results
  (func (export "params") (param $p i32) (result i32)
    (i32.const 11) (local.get $p)
    try (param i32 i32) (result i32 i32)
      i32.add
      local.get $p
      call $maybe
    catch $t
      i32.const 12
    catch_all
      i32.const 13
      i32.const 14
    end
    i32.sub)
  (func (export "params_delegate") (param $p i32) (result i32)
    (try $o (result i32)
      (do
        (i32.const 15) (local.get $p)
        try (param i32 i32) (result i32)
          i32.add
          local.get $p
          call $maybe
          i32.add
        delegate $o)
      (catch_all (i32.const 16))))
  (func (export "params_rethrow") (param $p i32) (result i32)
    (try $o (result i32)
      (do
        (i32.const 17) (local.get $p)
        try (param i32 i32) (result i32)
          i32.add
          local.get $p
          call $maybe
          i32.add
        catch $u
          rethrow 0
        end)
      (catch $u (i32.const 18) (i32.add))
      (catch_all (i32.const 19))))

  ;; an exception crosses many frames, and one is thrown again on the way
  (func $deep (param $p i32) (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (call $maybe (local.get $p)))))
    (if (i32.eq (local.get $n) (i32.const 7))
      (then (return (try (result i32)
        (do (call $deep (local.get $p) (i32.sub (local.get $n) (i32.const 1))))
        (catch $t (throw $u (i32.add (i32.const 1))))
        (catch_all (call $note (local.get $n)) (rethrow 0))))))
    (i32.add (i32.const 1) (call $deep (local.get $p) (i32.sub (local.get $n) (i32.const 1)))))
  (func (export "deep") (param $p i32) (result i32)
    (try (result i32)
      (do (call $deep (local.get $p) (i32.const 20)))
      (catch $t (i32.const 70) (i32.add))
      (catch $u (i32.const 71) (i32.add))
      (catch_all (i32.const 72))))

  ;; what follows a throw is not executed, and may be of any type
  (func (export "dead_code") (param $p i32) (result i32)
    (try (result i32)
      (do
        (if (i32.eq (local.get $p) (i32.const 5)) (then (throw $t (i32.const 73)) (call $note (i32.const 9))))
        (try (result i32) (do (drop (call $maybe (local.get $p))) (throw $u (i32.const 74))) (catch $t (throw $own (i32.const 75)) (drop) (i32.const 0))))
      (catch $own)
      (catch_all (try (result i32) (do (rethrow 1) (i32.const 0)) (catch $u (i32.const 76) (i32.add)) (catch $t))))))
