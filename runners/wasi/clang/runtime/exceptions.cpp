// What C++ needs to throw exceptions: the parts of libc++abi and libunwind that the package's
// builds, which have none, lack. Exceptions are WebAssembly's, in their first form.
//
// Sources: https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html; libcxxabi's
// cxa_personality.cpp and libunwind's Unwind-wasm.c.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <typeinfo>

namespace __cxxabiv1 {
struct __cxa_exception;
struct __shim_type_info : std::type_info { // as private_typeinfo.cpp has its functions
    ~__shim_type_info() override;
    virtual void noop1() const;
    virtual void noop2() const;
    virtual bool can_catch(const __shim_type_info *thrown, void *&adjusted) const = 0;
};
} // namespace __cxxabiv1

namespace {
struct alignas(16) header { // before the object
    const std::type_info *type;
    void *(*destroy)(void *); // destructors return their object here
    void *adjusted; // the object as its handler sees it
    header *next;   // of those that are handled
    int references, handlers;
};
header *caught;
int uncaught;

header *of(void *object) { return static_cast<header *>(object) - 1; }

unsigned long uleb(const unsigned char *&p) {
    unsigned long v = 0;
    for (int shift = 0;; shift += 7) {
        v |= (*p & 127ul) << shift;
        if (!(*p++ & 128)) return v;
    }
}
long sleb(const unsigned char *&p) {
    unsigned long v = 0;
    int shift = 0;
    unsigned char b;
    do { b = *p++; v |= (b & 127ul) << shift; shift += 7; } while (b & 128);
    return shift < 32 && b & 64 ? v | -(1ul << shift) : v;
}
} // namespace

// The tag by which exceptions are thrown.
asm(".globl __cpp_exception\n.tagtype __cpp_exception i32\n__cpp_exception:\n");

extern "C" {
char *__cxa_demangle(const char *, char *, size_t *, int *);
int __real___main_void();

struct { unsigned long index; const unsigned char *table; unsigned long selector; } __wasm_lpad_context;

// Chooses the handler of a landing pad, by the tables of its function.
int _Unwind_CallPersonality(void *object) {
    const unsigned char *p = __wasm_lpad_context.table;
    __wasm_lpad_context.selector = 0;
    if (!p) return 8;
    const unsigned char *types = nullptr;
    if (*p++ != 0xff) uleb(p);
    if (*p++ != 0xff) { unsigned long n = uleb(p); types = p + n; }
    p++;
    unsigned long size = uleb(p), action = 0;
    const unsigned char *actions = p + size;
    for (unsigned long i = 0; p < actions; i++) {
        uleb(p);
        action = uleb(p);
        if (i == __wasm_lpad_context.index) break;
        action = 0;
    }
    if (!action) return 8;
    for (p = actions + action - 1;;) {
        long filter = sleb(p);
        const unsigned char *at = p;
        long next = sleb(p);
        if (filter > 0) {
            auto *type = reinterpret_cast<__cxxabiv1::__shim_type_info *const *>(types)[-filter];
            void *adjusted = object;
            if (!type || type->can_catch(static_cast<const __cxxabiv1::__shim_type_info *>(of(object)->type), adjusted)) {
                of(object)->adjusted = adjusted;
                __wasm_lpad_context.selector = filter;
                return 6;
            }
        } else if (filter < 0) {
            std::terminate();
        }
        if (!next) return 8;
        p = at + next;
    }
}
int __gxx_wasm_personality_v0() { abort(); }

void *__cxa_allocate_exception(size_t n) noexcept {
    auto *h = static_cast<header *>(malloc(sizeof(header) + n));
    if (!h) std::terminate();
    *h = {};
    return h + 1;
}
void __cxa_free_exception(void *object) noexcept { free(of(object)); }
__cxxabiv1::__cxa_exception *__cxa_init_primary_exception(void *object, std::type_info *type, void *(*destroy)(void *)) noexcept {
    *of(object) = {type, destroy, object, nullptr, 0, 0};
    return reinterpret_cast<__cxxabiv1::__cxa_exception *>(of(object));
}
[[noreturn]] void __cxa_throw(void *object, std::type_info *type, void *(*destroy)(void *)) {
    __cxa_init_primary_exception(object, type, destroy);
    of(object)->references = 1;
    uncaught++;
    __builtin_wasm_throw(0, object);
}
void *__cxa_get_exception_ptr(void *object) noexcept { return of(object)->adjusted; }
void *__cxa_begin_catch(void *object) noexcept {
    header *h = of(object);
    h->handlers = h->handlers < 0 ? 1 - h->handlers : h->handlers + 1;
    if (h != caught) h->next = caught, caught = h;
    uncaught--;
    return h->adjusted;
}
void __cxa_increment_exception_refcount(void *object) noexcept { if (object) of(object)->references++; }
void __cxa_decrement_exception_refcount(void *object) noexcept {
    if (!object || --of(object)->references) return;
    if (of(object)->destroy) of(object)->destroy(object);
    __cxa_free_exception(object);
}
void __cxa_end_catch() {
    header *h = caught;
    if (!h) return;
    if (h->handlers < 0) { // thrown again
        if (++h->handlers == 0) caught = h->next;
    } else if (--h->handlers == 0) {
        caught = h->next;
        __cxa_decrement_exception_refcount(h + 1);
    }
}
[[noreturn]] void __cxa_rethrow() {
    header *h = caught;
    if (!h) std::terminate();
    h->handlers = -h->handlers;
    uncaught++;
    __builtin_wasm_throw(0, h + 1);
}
void *__cxa_current_primary_exception() noexcept {
    if (!caught) return nullptr;
    caught->references++;
    return caught + 1;
}
void __cxa_rethrow_primary_exception(void *object) {
    if (!object) return;
    header *h = of(object);
    if (h == caught) __cxa_rethrow();
    h->references++;
    h->adjusted = object;
    uncaught++;
    __builtin_wasm_throw(0, object);
}
std::type_info *__cxa_current_exception_type() { return caught ? const_cast<std::type_info *>(caught->type) : nullptr; }
bool __cxa_uncaught_exception() noexcept { return uncaught; }
unsigned int __cxa_uncaught_exceptions() noexcept { return uncaught; }

// A program's main: what nothing catches ends it as GCC's library does.
int __wrap___main_void() {
    try {
        return __real___main_void();
    } catch (...) {
        const char *name = caught->type->name();
        char *readable = __cxa_demangle(name, nullptr, nullptr, nullptr);
        fprintf(stderr, "terminate called after throwing an instance of '%s'\n", readable ? readable : name);
        try { throw; } catch (const std::exception &e) { fprintf(stderr, "  what():  %s\n", e.what()); } catch (...) {}
        abort();
    }
}
}

// What the compiled parts of the libraries end the program by, which have no exceptions: the
// names of libc++ are those of its inline functions there, which the linker takes from here.
#define THROWS(name, type) \
    extern "C" [[noreturn]] void throw_##type(const char *) __asm__("_ZNSt3__2" name "B9nqn220100EPKc"); \
    void throw_##type(const char *what) { throw std::type(what); }
THROWS("20__throw_length_error", length_error)
THROWS("20__throw_out_of_range", out_of_range)
THROWS("24__throw_invalid_argument", invalid_argument)

extern "C" {
[[noreturn]] void __cxa_bad_cast() { throw std::bad_cast(); }
[[noreturn]] void __cxa_bad_typeid() { throw std::bad_typeid(); }
[[noreturn]] void __cxa_throw_bad_array_new_length() { throw std::bad_array_new_length(); }
}
__attribute__((weak)) void *operator new(size_t n) {
    if (void *p = malloc(n ? n : 1)) return p;
    throw std::bad_alloc();
}
__attribute__((weak)) void *operator new[](size_t n) { return operator new(n); }
