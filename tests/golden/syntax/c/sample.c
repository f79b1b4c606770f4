/* A pool of equal blocks, carved out of one arena. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "pool.h"
#include "util/list.h"

#ifndef POOL_ALIGN
/* Blocks begin at a multiple of this. */
#define POOL_ALIGN 16
#endif
#define ROUND_UP(n, to) \
    (((n) + (to) - 1) / (to) * (to))

/* Called when the pool runs dry. */
typedef int (*pool_hook)(struct pool *pool, size_t wanted);
typedef void *(*pool_grow_fn)(size_t);
typedef unsigned long block_count, *block_count_ptr;

/* One free block. */
struct block {
    struct block *next;
    uint8_t bytes[POOL_ALIGN], canary;
    unsigned used : 1;
};

typedef struct pool {
    struct block *free, **tail;
    block_count total;
    pool_hook hook;
    void (*log)(const char *fmt, ...);
    union {
        int fd;
        void *handle;
    } source;
    struct {
        long hits, misses;
    };
} pool_t;

/* How to behave when there is no memory left. */
typedef enum {
    POOL_FAIL, /* give up */
    POOL_WAIT = 1 << 1,
    POOL_ABORT
} pool_policy;

enum colour { RED, GREEN };

typedef union { float f; uint32_t u; } bits_t;

static pool_t *registry[8], *current = NULL;
extern const char *const pool_names[];
int pool_debug;
static int (*compare)(const void *, const void *) = NULL;
struct range { size_t from, to; } whole = { 0, SIZE_MAX };

/* Prototypes are the interface. */
pool_t *pool_new(size_t block_size, pool_policy policy);
void pool_free(pool_t *pool);
static inline size_t rounded(size_t n);
__attribute__((noreturn)) void pool_die(const char *why, ...);

static inline size_t rounded(size_t n)
{
    return ROUND_UP(n, POOL_ALIGN);
}

/**
 * Makes a pool.
 *
 * The caller owns it.
 */
pool_t *pool_new(
    size_t block_size, /* rounded up */
    pool_policy policy)
{
    static int made;
    int count = 0, *where = &count;
    pool_t *pool = calloc(1, sizeof(struct pool));
    if (!pool)
        pool_die("no memory for %zu", rounded(block_size));
    pool->log = default_log;
    pool->log("made %d", ++made);
    (*compare)(pool, where);
#ifdef POOL_TRACE
    const char *trace = getenv("POOL_TRACE");
    list_push(&trace);
#endif
    registry[policy] = (pool_t *)pool;
    return pool;
}

struct block **pool_tail(const pool_t *pool) { return pool->tail; }

void (*pool_signal(int sig, void (*handler)(int)))(int)
{
    return signal(sig, handler);
}

int größe(pool_t *pool)
{
    return (int)pool->total;
}

/* A name in brackets cannot be taken for a macro. */
POOL_API int (pool_isempty)(const pool_t *pool);
POOL_API const char *(pool_name)(const pool_t *pool);
int (pool_isfull)(const pool_t *pool) { return !pool->free; }

POOL_API size_t (*pool_sizer)(const pool_t *pool) POOL_WEAK;
POOL_API int (*pool_ranker)(const pool_t *pool) POOL_WEAK;
void pool_warn(const char *format, ...) POOL_FORMAT(1, 2);
POOL_STATIC pool_t *pool_merge(pool_t *into, pool_t *from) { return into; }
struct POOL_PACKED header { uint32_t magic; };
