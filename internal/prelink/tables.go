package prelink

import (
	"debug/elf"
	"encoding/binary"
	"slices"
)

const wordSize, dynamicSize, symbolSize, relocationSize = 8, 16, 24, 24

// The entries of the dynamic section are addresses, or numbers that stay.
var (
	addresses = []elf.DynTag{elf.DT_PLTGOT, elf.DT_HASH, elf.DT_STRTAB, elf.DT_SYMTAB, elf.DT_RELA, elf.DT_INIT, elf.DT_FINI, elf.DT_JMPREL,
		elf.DT_INIT_ARRAY, elf.DT_FINI_ARRAY, elf.DT_PREINIT_ARRAY, elf.DT_GNU_HASH, elf.DT_VERSYM, elf.DT_VERDEF, elf.DT_VERNEED}
	numbers = []elf.DynTag{elf.DT_NEEDED, elf.DT_PLTRELSZ, elf.DT_RELASZ, elf.DT_RELAENT, elf.DT_STRSZ, elf.DT_SYMENT, elf.DT_PLTREL, elf.DT_DEBUG,
		elf.DT_BIND_NOW, elf.DT_INIT_ARRAYSZ, elf.DT_FINI_ARRAYSZ, elf.DT_PREINIT_ARRAYSZ, elf.DT_FLAGS, elf.DT_VERDEFNUM, elf.DT_VERNEEDNUM, elf.DT_RELACOUNT}
)

// entry is an entry of the dynamic section: what it was, and where it is.
type entry struct {
	value uint64
	word  []byte
}

// dynamic moves the addresses of the dynamic section, and returns its entries.
func (e *executable) dynamic() (map[elf.DynTag]entry, error) {
	p := e.segment(elf.PT_DYNAMIC)
	table, err := e.at(p.Vaddr, p.Filesz/dynamicSize*dynamicSize)
	if err != nil {
		return nil, err
	}
	entries := map[elf.DynTag]entry{}
	for ; len(table) > 0 && elf.DynTag(get(table)) != elf.DT_NULL; table = table[dynamicSize:] {
		tag, word := elf.DynTag(get(table)), table[wordSize:dynamicSize]
		entries[tag] = entry{get(word), word}
		switch {
		case slices.Contains(addresses, tag):
			add(word, e.base)
		case tag == elf.DT_FLAGS_1:
			put(word, get(word)&^uint64(elf.DF_1_PIE))
		case !slices.Contains(numbers, tag):
			return nil, unsupported("its dynamic section has %v", tag)
		}
	}
	_, now := entries[elf.DT_BIND_NOW]
	if !now && entries[elf.DT_FLAGS].value&uint64(elf.DF_BIND_NOW) == 0 && entries[elf.DT_FLAGS_1].value&uint64(elf.DF_1_NOW) == 0 {
		return nil, unsupported("it is linked lazily")
	}
	return entries, nil
}

// relocations applies those that need no symbol, as far as the table begins with them, as
// linkers sort it. It takes these out of the table and moves the others.
func (e *executable) relocations(dynamic map[elf.DynTag]entry) error {
	start, size := dynamic[elf.DT_RELA], dynamic[elf.DT_RELASZ]
	if start.word == nil || size.word == nil || dynamic[elf.DT_RELAENT].value != relocationSize {
		return unsupported("it has no table of relocations")
	}
	table, err := e.table(start.value, size.value/relocationSize*relocationSize)
	if err != nil {
		return err
	}
	rest := table
	for ; len(rest) > 0 && elf.R_X86_64(get(rest[8:])) == elf.R_X86_64_RELATIVE; rest = rest[relocationSize:] {
		word, err := e.at(get(rest), wordSize)
		if err != nil {
			return err
		}
		put(word, get(rest[16:])+e.base)
	}
	add(start.word, uint64(len(table)-len(rest)))
	put(size.word, uint64(len(rest)))
	if count := dynamic[elf.DT_RELACOUNT]; count.word != nil {
		put(count.word, 0)
	}
	if err := e.move(rest); err != nil {
		return err
	}
	if size := dynamic[elf.DT_PLTRELSZ].value; size > 0 {
		if table, err = e.table(dynamic[elf.DT_JMPREL].value, size/relocationSize*relocationSize); err != nil {
			return err
		}
		return e.move(table)
	}
	return nil
}

// move moves relocations that are left for the dynamic loader.
func (e *executable) move(table []byte) error {
	for r := table; len(r) > 0; r = r[relocationSize:] {
		switch kind := elf.R_X86_64(get(r[8:]) & 0xffffffff); kind {
		case elf.R_X86_64_RELATIVE, elf.R_X86_64_IRELATIVE:
			add(r[16:], e.base)
		case elf.R_X86_64_64, elf.R_X86_64_GLOB_DAT, elf.R_X86_64_JMP_SLOT, elf.R_X86_64_DTPMOD64, elf.R_X86_64_DTPOFF64, elf.R_X86_64_TPOFF64:
		default:
			return unsupported("a relocation is %v", kind)
		}
		add(r, e.base)
	}
	return nil
}

// symbols moves the symbols that other libraries may look up.
func (e *executable) symbols(address uint64) error {
	s := e.SectionByType(elf.SHT_DYNSYM)
	if s == nil || s.Addr != address || s.Entsize != symbolSize {
		return unsupported("its symbols are not counted")
	}
	table, err := e.table(address, s.FileSize/symbolSize*symbolSize)
	if err != nil {
		return err
	}
	for ; len(table) > 0; table = table[symbolSize:] {
		kind, section := elf.ST_TYPE(table[4]), elf.SectionIndex(binary.LittleEndian.Uint16(table[6:]))
		if kind != elf.STT_TLS && section != elf.SHN_UNDEF && section != elf.SHN_ABS {
			add(table[8:], e.base)
		}
	}
	return nil
}

// headers moves the segments and the sections, and fixes their place.
func (e *executable) headers() error {
	var h elf.Header64
	err := each(e, 0, uint16(binary.Size(h)), 1, &h, func() {
		h.Type = uint16(elf.ET_EXEC)
		h.Entry += e.base
	})
	if err != nil {
		return err
	}
	var p elf.Prog64
	err = each(e, h.Phoff, h.Phentsize, h.Phnum, &p, func() {
		if p.Memsz > 0 {
			p.Vaddr += e.base
			p.Paddr += e.base
		}
	})
	if err != nil {
		return err
	}
	var s elf.Section64
	return each(e, h.Shoff, h.Shentsize, h.Shnum, &s, func() {
		if elf.SectionFlag(s.Flags)&elf.SHF_ALLOC != 0 {
			s.Addr += e.base
		}
	})
}

// each changes the headers of a table, one after another in h.
func each[H any](e *executable, offset uint64, size, count uint16, h *H, change func()) error {
	if int(size) != binary.Size(*h) {
		return unsupported("a header has %d bytes", size)
	}
	if err := e.read(&e.tables, part{offset: offset}, uint64(size)*uint64(count)); err != nil {
		return err
	}
	for table := e.tables[len(e.tables)-1].data; len(table) > 0; table = table[size:] {
		if _, err := binary.Decode(table, binary.LittleEndian, h); err != nil {
			return err
		}
		change()
		if _, err := binary.Encode(table, binary.LittleEndian, h); err != nil {
			return err
		}
	}
	return nil
}
