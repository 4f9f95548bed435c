package wasmbin

// Opcodes that users of this package name.
const (
	OpUnreachable        = 0x00
	OpNop                = 0x01
	OpBlock              = 0x02
	OpLoop               = 0x03
	OpIf                 = 0x04
	OpElse               = 0x05
	OpTry                = 0x06 // legacy exception handling
	OpCatch              = 0x07 // legacy exception handling
	OpThrow              = 0x08
	OpRethrow            = 0x09 // legacy exception handling
	OpEnd                = 0x0b
	OpBr                 = 0x0c
	OpBrIf               = 0x0d
	OpBrTable            = 0x0e
	OpReturn             = 0x0f
	OpCall               = 0x10
	OpCallIndirect       = 0x11
	OpReturnCall         = 0x12
	OpReturnCallIndirect = 0x13
	OpDelegate           = 0x18 // legacy exception handling
	OpCatchAll           = 0x19 // legacy exception handling
	OpDrop               = 0x1a
	OpSelect             = 0x1b
	OpSelectT            = 0x1c
	OpLocalGet           = 0x20
	OpLocalSet           = 0x21
	OpLocalTee           = 0x22
	OpGlobalGet          = 0x23
	OpGlobalSet          = 0x24
	OpTableGet           = 0x25
	OpTableSet           = 0x26
	OpI32Load            = 0x28
	OpI32Load8U          = 0x2d
	OpI32Store           = 0x36
	OpI64Store           = 0x37
	OpI32Store8          = 0x3a
	OpMemorySize         = 0x3f
	OpMemoryGrow         = 0x40
	OpI32Const           = 0x41
	OpI64Const           = 0x42
	OpF32Const           = 0x43
	OpF64Const           = 0x44
	OpI32Eqz             = 0x45
	OpI32Eq              = 0x46
	OpI32Ne              = 0x47
	OpI32LtS             = 0x48
	OpI32LtU             = 0x49
	OpI32GtS             = 0x4a
	OpI32GtU             = 0x4b
	OpI32LeS             = 0x4c
	OpI32LeU             = 0x4d
	OpI32GeS             = 0x4e
	OpI32GeU             = 0x4f
	OpI64Eqz             = 0x50
	OpI64Eq              = 0x51
	OpI64Ne              = 0x52
	OpI64GtU             = 0x56
	OpI64GeU             = 0x5a
	OpI32Add             = 0x6a
	OpI32Sub             = 0x6b
	OpI32Mul             = 0x6c
	OpI32And             = 0x71
	OpI32Or              = 0x72
	OpI32Shl             = 0x74
	OpI32ShrU            = 0x76
	OpI64Add             = 0x7c
	OpI64Sub             = 0x7d
	OpI64Mul             = 0x7e
	OpI64Shl             = 0x86
	OpI64ShrU            = 0x88
	OpF64Ceil            = 0x9b
	OpF64Max             = 0xa5
	OpI32WrapI64         = 0xa7
	OpI64ExtendI32U      = 0xad
	OpRefNull            = 0xd0
	OpRefIsNull          = 0xd1
	OpRefFunc            = 0xd2

	PrefixMisc = 0xfc
	PrefixSIMD = 0xfd
)

// Numbers after PrefixMisc.
const (
	MiscI32TruncSatF64S = 2
	MiscMemoryInit      = 8
	MiscDataDrop        = 9
	MiscMemoryCopy      = 10
	MiscMemoryFill      = 11
	MiscTableInit       = 12
	MiscElemDrop        = 13
	MiscTableCopy       = 14
	MiscTableGrow       = 15
	MiscTableSize       = 16
	MiscTableFill       = 17
)

const (
	simdConst   = 12
	simdLast    = 0x113 // with relaxed SIMD
	simdShuffle = 13
)

// Classes of immediates.
const (
	_ = iota // not supported
	immNone
	immBlock
	immLocal
	immGlobal
	immTable
	immFunc
	immTag
	immLabel
	immBrTable
	immCallIndirect
	immMem
	immMemarg
	immI32
	immI64
	immF32
	immF64
	immHeap
	immTypes
	immMisc
	immSIMD
)

var immOf = func() (t [256]uint8) {
	set := func(k uint8, ops ...int) {
		for _, o := range ops {
			t[o] = k
		}
	}
	span := func(k uint8, from, to int) {
		for o := from; o <= to; o++ {
			t[o] = k
		}
	}
	set(immNone, OpUnreachable, OpNop, OpElse, OpEnd, OpReturn, OpCatchAll, OpDrop, OpSelect, OpRefIsNull)
	set(immBlock, OpBlock, OpLoop, OpIf, OpTry)
	set(immTag, OpCatch, OpThrow)
	set(immLabel, OpRethrow, OpBr, OpBrIf, OpDelegate)
	set(immBrTable, OpBrTable)
	set(immFunc, OpCall, OpReturnCall, OpRefFunc)
	set(immCallIndirect, OpCallIndirect, OpReturnCallIndirect)
	set(immTypes, OpSelectT)
	span(immLocal, OpLocalGet, OpLocalTee)
	span(immGlobal, OpGlobalGet, OpGlobalSet)
	span(immTable, OpTableGet, OpTableSet)
	span(immMemarg, 0x28, 0x3e)
	span(immMem, OpMemorySize, OpMemoryGrow)
	set(immI32, OpI32Const)
	set(immI64, OpI64Const)
	set(immF32, OpF32Const)
	set(immF64, OpF64Const)
	span(immNone, 0x45, 0xc4)
	set(immHeap, OpRefNull)
	set(immMisc, PrefixMisc)
	set(immSIMD, PrefixSIMD)
	return t
}()
