/* Memory, bytes, deflate streams, zip members and JSON. */
#ifndef BYTES_H
#define BYTES_H

#include <stddef.h>
#include <stdint.h>

void fail(const char *format, ...);
void *allocate(size_t count, size_t size); /* zeroed */

typedef struct {
    const unsigned char *data;
    size_t length, at;
} Bytes;

Bytes bytes_of(const unsigned char *data, size_t length);
const unsigned char *take(Bytes *bytes, size_t count);
Bytes take_bytes(Bytes *bytes, size_t count);
Bytes rest_of(Bytes *bytes);
uint64_t varint(Bytes *bytes);
uint64_t little(const unsigned char *data, int width);

unsigned char *inflate_raw(Bytes content, size_t size);
unsigned char *inflate_zlib(Bytes content, size_t size);

typedef struct {
    char descr[8];
    size_t count;
    const unsigned char *data;
    size_t length;
} Member; /* of length 0 and without data where the archive has none of that name */

Member read_member(const unsigned char *file, size_t length, const char *name);

typedef enum { JSON_NULL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT } JsonKind;
typedef struct Json {
    JsonKind kind;
    const char *number; /* its text */
    char *text;
    size_t count;
    struct Json *items; /* of a list, or the values of an object */
    char **keys;        /* of an object */
} Json;

Json json_parse(const char *text);
const Json *json_get(const Json *object, const char *key); /* NULL where there is none */
int64_t json_integer(const Json *value);

#endif
