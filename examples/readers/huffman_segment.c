/* Form 5: run lengths of zeros in the order of levels, and labels, under Huffman codes. */

#include <stdlib.h>

#include "segments.h"

/* Indexes of equal offset, the lowest offset first: `order` has them, `ends` where each run ends. Returns the runs. */
static int runs_of(const int32_t *offsets, int64_t count, int64_t *order, int64_t *ends, int32_t *values) {
    int runs = 0;
    int64_t next = 0;
    for (int32_t offset = -16; offset <= 16; offset++) {
        int64_t before = next;
        for (int64_t index = 0; index < count; index++)
            if (offsets[index] == offset) order[next++] = index;
        if (next == before) continue;
        values[runs] = offset;
        ends[runs++] = next;
    }
    return runs;
}

/* The weights of a segment, as their indexes, in the order in which they are coded. */
static int64_t *weights_by_level(const Segment *segment, const BlockLevels *levels) {
    int64_t *found = allocate((size_t)segment->size, sizeof(int64_t)), next = 0;
    for (int level = 0; level < LEVELS; level++)
        for (int index = 0; index < segment->count; index++) {
            const Block *block = segment->blocks + index;
            int64_t *rows = allocate((size_t)block->sides[0], sizeof(int64_t));
            int64_t *columns = allocate((size_t)block->sides[1], sizeof(int64_t));
            int64_t row_ends[33], column_ends[33], start = block->start - segment->blocks[0].start;
            int32_t row_values[33], column_values[33];
            int row_runs = runs_of(levels[index].offsets[0], block->sides[0], rows, row_ends, row_values);
            int column_runs = runs_of(levels[index].offsets[1], block->sides[1], columns, column_ends, column_values);
            for (int a = 0; a < row_runs; a++)
                for (int b = 0; b < column_runs; b++) {
                    if (clip_level(levels[index].base + row_values[a] + column_values[b]) != level) continue;
                    for (int64_t r = a ? row_ends[a - 1] : 0; r < row_ends[a]; r++)
                        for (int64_t c = b ? column_ends[b - 1] : 0; c < column_ends[b]; c++)
                            for (int64_t place = 0; place < block->sides[2]; place++)
                                found[next++] = start + (rows[r] * block->sides[1] + columns[c]) * block->sides[2] + place;
                }
            free(rows);
            free(columns);
        }
    return found;
}

/* Several digits from each byte, the first the most significant. */
static unsigned char *unpack_digits(const unsigned char *bytes, size_t count, int base, int per_byte) {
    unsigned char *digits = allocate(count, 1);
    for (size_t index = 0; index < count; index++) {
        int value = bytes[index / (size_t)per_byte];
        for (int place = per_byte - 1; place > (int)(index % (size_t)per_byte); place--) value /= base;
        digits[index] = (unsigned char)(value % base);
    }
    return digits;
}

/* 1 for each entry of a mask that is not zero. */
static unsigned char *read_positions(Bytes content, size_t entries) {
    int form = *take(&content, 1);
    if (form == 2) return unpack_bits(inflate_raw(rest_of(&content), (entries + 7) / 8), entries);
    int low = *take(&content, 1);
    if (form > 2 || (low != 0 && low != 1 && low != 2 && low != 4 && low != 8)) fail("the bundle is damaged: a mask has an unknown form");
    size_t count = varint(&content), length = varint(&content), own = 0, next = 0;
    unsigned char *symbols = inflate_raw(take_bytes(&content, length), count), *lowest = NULL;
    for (size_t index = 0; index < count; index++) own += symbols[index] < 255;
    if (low) lowest = unpack_digits(inflate_raw(rest_of(&content), (own * (size_t)low + 7) / 8), own, 1 << low, 8 / low);
    unsigned char *mask = allocate(entries, 1);
    int64_t position = -1;
    for (size_t index = 0; index < entries; index++) mask[index] = form == 1;
    for (size_t index = 0; index < count; index++) {
        position += (int64_t)symbols[index] << low;
        if (symbols[index] == 255) continue;
        position += 1 + (lowest ? lowest[next++] : 0);
        if (position >= (int64_t)entries) fail("the bundle is damaged: a mask goes beyond its end");
        mask[position] = form == 0;
    }
    return mask;
}

static int32_t *read_integers(Bytes content, size_t count) {
    int64_t first = (int64_t)varint(&content), values = (int64_t)varint(&content);
    int64_t lowest = first % 2 ? -(first + 1) / 2 : first / 2;
    int per_byte = 1;
    for (int64_t power = values; values > 1 && values <= 16 && power * values <= 256; power *= values) per_byte++;
    int32_t *integers = allocate(count, sizeof(int32_t));
    for (int shift = 0; (values - 1) >> shift > 0; shift += 8) {
        Bytes plane = take_bytes(&content, varint(&content));
        unsigned char *bytes = inflate_raw(plane, (count + (size_t)per_byte - 1) / (size_t)per_byte);
        unsigned char *digits = per_byte > 1 ? unpack_digits(bytes, count, (int)values, per_byte) : bytes;
        for (size_t index = 0; index < count; index++) integers[index] |= (int32_t)digits[index] << shift;
    }
    for (size_t index = 0; index < count; index++) {
        integers[index] += (int32_t)lowest;
        if (lowest < 0 && integers[index] >= 0) integers[index]++;
    }
    return integers;
}

int32_t *read_huffman(const Segment *segment, Bytes mask, Bytes labels) {
    size_t size = (size_t)segment->size, count = 0, next = 0;
    uint64_t coded = varint(&mask);
    Decoder decoder = new_decoder(take_bytes(&mask, coded));
    int64_t *order = weights_by_level(segment, read_levels(&decoder, segment));
    unsigned char *bits = read_positions(rest_of(&mask), size);
    for (size_t index = 0; index < size; index++) count += bits[index];
    int32_t *integers = read_integers(labels, count), *signed_labels = allocate(size, sizeof(int32_t));
    for (size_t index = 0; index < size; index++)
        if (bits[index]) signed_labels[order[index]] = integers[next++];
    return signed_labels;
}
