#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *allocate(size_t count, size_t size) {
    void *found = calloc(count ? count : 1, size ? size : 1);
    if (!found) fail("there is not enough memory");
    return found;
}

Bytes bytes_of(const unsigned char *data, size_t length) {
    Bytes bytes = {data, length, 0};
    return bytes;
}

const unsigned char *take(Bytes *bytes, size_t count) {
    if (count > bytes->length - bytes->at) fail("the bundle is damaged: %zu bytes are missing", count);
    bytes->at += count;
    return bytes->data + bytes->at - count;
}

Bytes take_bytes(Bytes *bytes, size_t count) { return bytes_of(take(bytes, count), count); }

Bytes rest_of(Bytes *bytes) { return take_bytes(bytes, bytes->length - bytes->at); }

uint64_t varint(Bytes *bytes) {
    uint64_t number = 0;
    for (int shift = 0; shift < 63; shift += 7) {
        unsigned char byte = *take(bytes, 1);
        number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return number;
    }
    fail("the bundle is damaged: an integer does not end");
    return 0;
}

uint64_t little(const unsigned char *data, int width) {
    uint64_t number = 0;
    for (int index = width - 1; index >= 0; index--) number = number << 8 | data[index];
    return number;
}

/* --- deflate (RFC 1951) */

typedef struct {
    Bytes in;
    uint32_t buffer;
    int held;
} BitReader;

typedef struct {
    int counts[16];
    int symbols[320];
} Code;

static int bits(BitReader *reader, int count) {
    while (reader->held < count) {
        reader->buffer |= (uint32_t)*take(&reader->in, 1) << reader->held;
        reader->held += 8;
    }
    int found = (int)(reader->buffer & ((1u << count) - 1));
    reader->buffer >>= count;
    reader->held -= count;
    return found;
}

static void make_code(Code *code, const int *lengths, int count) {
    int next = 0;
    memset(code, 0, sizeof *code);
    for (int length = 1; length <= 15; length++)
        for (int value = 0; value < count; value++)
            if (lengths[value] == length) {
                code->symbols[next++] = value;
                code->counts[length]++;
            }
}

static int symbol(BitReader *reader, const Code *code) {
    int value = 0, first = 0, index = 0;
    for (int length = 1; length <= 15; length++) {
        value |= bits(reader, 1);
        int count = code->counts[length];
        if (value - first < count) return code->symbols[index + value - first];
        index += count;
        first = (first + count) << 1;
        value <<= 1;
    }
    fail("the bundle is damaged: a deflate stream has an unknown code");
    return 0;
}

static const int LENGTH_BASE[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                  31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const int LENGTH_BITS[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const int DISTANCE_BASE[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const int DISTANCE_BITS[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                    6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
static const int CODE_ORDER[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

static void fixed_codes(Code *literals, Code *distances) {
    int lengths[288];
    for (int value = 0; value < 288; value++) lengths[value] = value < 144 ? 8 : value < 256 ? 9 : value < 280 ? 7 : 8;
    make_code(literals, lengths, 288);
    for (int value = 0; value < 30; value++) lengths[value] = 5;
    make_code(distances, lengths, 30);
}

static void read_codes(BitReader *reader, Code *literals, Code *distances) {
    int first = bits(reader, 5) + 257, second = bits(reader, 5) + 1, own = bits(reader, 4) + 4;
    int lengths[320] = {0};
    Code code;
    for (int index = 0; index < own; index++) lengths[CODE_ORDER[index]] = bits(reader, 3);
    make_code(&code, lengths, 19);
    for (int at = 0; at < first + second;) {
        int value = symbol(reader, &code), count = 1, repeated = value;
        if (value == 16) {
            if (!at) fail("the bundle is damaged: a deflate stream repeats nothing");
            repeated = lengths[at - 1];
            count = 3 + bits(reader, 2);
        } else if (value > 16) {
            repeated = 0;
            count = value == 17 ? 3 + bits(reader, 3) : 11 + bits(reader, 7);
        }
        if (at + count > first + second) fail("the bundle is damaged: a deflate table is too long");
        while (count--) lengths[at++] = repeated;
    }
    make_code(literals, lengths, first);
    make_code(distances, lengths + first, second);
}

unsigned char *inflate_raw(Bytes content, size_t size) {
    BitReader reader = {content, 0, 0};
    unsigned char *out = allocate(size, 1);
    size_t written = 0;
    for (int last = 0; !last;) {
        last = bits(&reader, 1);
        int kind = bits(&reader, 2);
        Code literals, distances;
        if (kind == 0) {
            reader.buffer = 0;
            reader.held = 0; /* less than a byte is held */
            size_t length = little(take(&reader.in, 4), 2);
            if (length > size - written) fail("the bundle is damaged: a deflate stream is too long");
            memcpy(out + written, take(&reader.in, length), length);
            written += length;
            continue;
        }
        if (kind == 1)
            fixed_codes(&literals, &distances);
        else
            read_codes(&reader, &literals, &distances);
        for (int value = symbol(&reader, &literals); value != 256; value = symbol(&reader, &literals)) {
            if (value < 256) {
                if (written == size) fail("the bundle is damaged: a deflate stream is too long");
                out[written++] = (unsigned char)value;
                continue;
            }
            size_t length = (size_t)(LENGTH_BASE[value - 257] + bits(&reader, LENGTH_BITS[value - 257]));
            int code = symbol(&reader, &distances);
            size_t distance = (size_t)(DISTANCE_BASE[code] + bits(&reader, DISTANCE_BITS[code]));
            if (distance > written || length > size - written) fail("the bundle is damaged: a deflate stream is too long");
            for (; length; length--, written++) out[written] = out[written - distance];
        }
    }
    if (written != size) fail("the bundle is damaged: a deflate stream has %zu bytes in place of %zu", written, size);
    return out;
}

unsigned char *inflate_zlib(Bytes content, size_t size) {
    take(&content, 2);
    return inflate_raw(rest_of(&content), size);
}

/* --- zip and .npy */

static Member read_npy(Bytes content) {
    Member member = {"", 0, NULL, 0};
    const unsigned char *head = take(&content, 10);
    size_t length = little(head + 8, 2);
    char *text = allocate(length + 1, 1);
    memcpy(text, take(&content, length), length);
    const char *descr = strstr(text, "'descr'"), *shape = strstr(text, "'shape'");
    if (!descr || !shape) fail("the bundle is damaged: a member is no .npy file");
    sscanf(strchr(descr + 7, '\''), "'%7[^']", member.descr);
    sscanf(strchr(shape, '('), "(%zu", &member.count);
    Bytes data = rest_of(&content);
    member.data = data.data;
    member.length = data.length;
    free(text);
    return member;
}

Member read_member(const unsigned char *file, size_t length, const char *name) {
    Member none = {"", 0, NULL, 0};
    size_t end = length;
    do {
        if (end-- < 22) fail("this is no zip archive");
    } while (end + 22 > length || little(file + end, 4) != 0x06054b50);
    Bytes records = bytes_of(file, length);
    records.at = little(file + end + 16, 4);
    for (uint64_t left = little(file + end + 10, 2); left; left--) {
        const unsigned char *record = take(&records, 46);
        size_t name_length = little(record + 28, 2), local = little(record + 42, 4);
        const char *found = (const char *)take(&records, name_length);
        take(&records, little(record + 30, 2) + little(record + 32, 2));
        if (name_length != strlen(name) + 4 || memcmp(found, name, strlen(name))) continue;
        Bytes content = bytes_of(file, length);
        take(&content, local);
        const unsigned char *header = take(&content, 30);
        take(&content, little(header + 26, 2) + little(header + 28, 2));
        content = take_bytes(&content, little(record + 20, 4));
        size_t size = little(record + 24, 4);
        return read_npy(little(record + 10, 2) == 8 ? bytes_of(inflate_raw(content, size), size) : content);
    }
    return none;
}

/* --- JSON, as manifests have it */

static void skip_space(const char **text) {
    while (**text == ' ' || **text == '\n' || **text == '\t' || **text == '\r') ++*text;
}

static char *parse_text(const char **text) {
    char *found = allocate(strlen(*text) + 1, 1), *to = found;
    for (++*text; **text && **text != '"'; ++*text) {
        if (**text != '\\') {
            *to++ = **text;
            continue;
        }
        ++*text;
        const char *escapes = "\"\\/bfnrt", *values = "\"\\/\b\f\n\r\t", *at = strchr(escapes, **text);
        if (!at || !**text) fail("names with \\u in the manifest are not supported by this reader");
        *to++ = values[at - escapes];
    }
    if (!**text) fail("the bundle is damaged: a text of its manifest does not end");
    ++*text;
    return realloc(found, (size_t)(to - found) + 1);
}

static Json parse_value(const char **text) {
    Json value = {JSON_NULL, NULL, NULL, 0, NULL, NULL};
    skip_space(text);
    if (**text == '"') {
        value.kind = JSON_TEXT;
        value.text = parse_text(text);
    } else if (**text == '[' || **text == '{') {
        int object = **text == '{';
        size_t room = 0;
        value.kind = object ? JSON_OBJECT : JSON_LIST;
        ++*text;
        for (skip_space(text); **text != ']' && **text != '}'; skip_space(text)) {
            if (**text == ',') ++*text;
            if (value.count == room) {
                room = room ? 2 * room : 8;
                value.items = realloc(value.items, room * sizeof(Json));
                value.keys = realloc(value.keys, room * sizeof(char *));
                if (!value.items || !value.keys) fail("there is not enough memory");
            }
            skip_space(text);
            if (object) {
                if (**text != '"') fail("the bundle is damaged: its manifest is no JSON");
                value.keys[value.count] = parse_text(text);
                skip_space(text);
                if (*(*text)++ != ':') fail("the bundle is damaged: its manifest is no JSON");
            }
            value.items[value.count++] = parse_value(text);
        }
        ++*text;
    } else {
        const char *start = *text;
        value.kind = strchr("-0123456789", **text) && **text ? JSON_NUMBER : JSON_NULL;
        value.number = start;
        while (**text && !strchr(",]} \n\t\r", **text)) ++*text;
        if (*text == start) fail("the bundle is damaged: its manifest is no JSON");
    }
    return value;
}

Json json_parse(const char *text) { return parse_value(&text); }

const Json *json_get(const Json *object, const char *key) {
    for (size_t index = 0; object && object->kind == JSON_OBJECT && index < object->count; index++)
        if (!strcmp(object->keys[index], key)) return object->items[index].kind ? &object->items[index] : NULL;
    return NULL;
}

int64_t json_integer(const Json *value) {
    if (!value || value->kind != JSON_NUMBER) fail("the bundle is damaged: a number of its manifest is missing");
    return strtoll(value->number, NULL, 10);
}
