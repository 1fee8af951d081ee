;; A tile of a matrix product, four rows by eight columns, four numbers at a time, in single precision:
;;
;;     c[r, j] = sum over l < k of a[r, l] b[l, j]    for r < 4 and j < 8
;;
;; runtime.js calls it for tile after tile of a large product. Its bytes stand in tile.js, which a test holds to this
;; text; `wat2wasm tile.wat` (of wabt) makes them.
(module
  (import "m" "m" (memory 1))
  (func (export "tile")
    ;; Addresses, and strides in bytes: of C and its rows; of A, its rows and columns; of B and its rows; and the size k.
    (param $c i32) (param $cr i32)
    (param $a i32) (param $ar i32) (param $ac i32)
    (param $b i32) (param $br i32)
    (param $k i32)
    ;; The entries of A that are read next, in rows 1 to 3; that of row 0 is $a.
    (local $a1 i32) (local $a2 i32) (local $a3 i32)
    ;; A row of B as two vectors; an entry of A, four times; and the sums: $s21 are those of row 2, in columns 4 to 7.
    (local $v0 v128) (local $v1 v128) (local $x v128)
    (local $s00 v128) (local $s01 v128) (local $s10 v128) (local $s11 v128)
    (local $s20 v128) (local $s21 v128) (local $s30 v128) (local $s31 v128)

    local.get $a local.get $ar i32.add local.set $a1
    local.get $a1 local.get $ar i32.add local.set $a2
    local.get $a2 local.get $ar i32.add local.set $a3
    loop
      local.get $b v128.load offset=0 align=4 local.set $v0
      local.get $b v128.load offset=16 align=4 local.set $v1

      local.get $a v128.load32_splat offset=0 align=4 local.set $x
      local.get $a local.get $ac i32.add local.set $a
      local.get $s00 local.get $x local.get $v0 f32x4.mul f32x4.add local.set $s00
      local.get $s01 local.get $x local.get $v1 f32x4.mul f32x4.add local.set $s01

      local.get $a1 v128.load32_splat offset=0 align=4 local.set $x
      local.get $a1 local.get $ac i32.add local.set $a1
      local.get $s10 local.get $x local.get $v0 f32x4.mul f32x4.add local.set $s10
      local.get $s11 local.get $x local.get $v1 f32x4.mul f32x4.add local.set $s11

      local.get $a2 v128.load32_splat offset=0 align=4 local.set $x
      local.get $a2 local.get $ac i32.add local.set $a2
      local.get $s20 local.get $x local.get $v0 f32x4.mul f32x4.add local.set $s20
      local.get $s21 local.get $x local.get $v1 f32x4.mul f32x4.add local.set $s21

      local.get $a3 v128.load32_splat offset=0 align=4 local.set $x
      local.get $a3 local.get $ac i32.add local.set $a3
      local.get $s30 local.get $x local.get $v0 f32x4.mul f32x4.add local.set $s30
      local.get $s31 local.get $x local.get $v1 f32x4.mul f32x4.add local.set $s31

      local.get $b local.get $br i32.add local.set $b
      local.get $k i32.const 1 i32.sub local.tee $k
      br_if 0  ;; again, unless k is 0
    end

    local.get $c local.get $s00 v128.store offset=0 align=4
    local.get $c local.get $s01 v128.store offset=16 align=4
    local.get $c local.get $cr i32.add local.set $c
    local.get $c local.get $s10 v128.store offset=0 align=4
    local.get $c local.get $s11 v128.store offset=16 align=4
    local.get $c local.get $cr i32.add local.set $c
    local.get $c local.get $s20 v128.store offset=0 align=4
    local.get $c local.get $s21 v128.store offset=16 align=4
    local.get $c local.get $cr i32.add local.set $c
    local.get $c local.get $s30 v128.store offset=0 align=4
    local.get $c local.get $s31 v128.store offset=16 align=4))
