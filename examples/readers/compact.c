#include "compact.h"

#include <string.h>

#include "numbers.h"
#include "segments.h"

typedef struct {
    double *values;
    int64_t *multiples; /* of the step, or NULL where no grid is stored */
    int count, negative, wide;
} Codebook;

typedef struct {
    Codebook *books;
    int count;
} Codebooks;

unsigned char *unpack_bits(const unsigned char *bytes, size_t count) {
    unsigned char *bits = allocate(count, 1);
    for (size_t index = 0; index < count; index++) bits[index] = bytes[index / 8] >> (7 - index % 8) & 1;
    return bits;
}

static Codebook read_codebook(Bytes content) {
    Codebook book = {NULL, NULL, 0, 0, 0};
    int form = *take(&content, 1);
    book.wide = form >> 1 & 1;
    const char *type = book.wide ? "float64" : "float32";
    int width = width_of(type);
    if (form & 1) {
        double step = *widen(take(&content, (size_t)width), 1, type);
        int64_t lowest = (int64_t)varint(&content) - (1 << 17);
        size_t span = varint(&content);
        unsigned char *used = unpack_bits(take(&content, (span + 7) / 8), span);
        book.values = allocate(span, sizeof(double));
        book.multiples = allocate(span, sizeof(int64_t));
        for (size_t index = 0; index < span; index++) {
            if (!used[index]) continue;
            int64_t multiple = lowest + (int64_t)index;
            book.multiples[book.count] = multiple;
            book.values[book.count++] = book.wide ? (double)multiple * step : (double)((float)multiple * (float)step);
        }
    } else {
        book.count = (int)varint(&content);
        book.values = widen(unpack_planes(rest_of(&content), (size_t)book.count, width), (size_t)book.count, type);
    }
    while (book.negative < book.count && book.values[book.negative] < 0) book.negative++;
    return book;
}

static Codebooks read_codebooks(Bytes content, int tensors) {
    int one = content.length && content.data[0] != 4;
    Codebooks found = {allocate((size_t)tensors + 1, sizeof(Codebook)), one ? 1 : tensors};
    if (one) {
        found.books[0] = read_codebook(content);
        return found;
    }
    take(&content, 1);
    for (int tensor = 0; tensor < tensors; tensor++) {
        uint64_t length = varint(&content);
        found.books[tensor] = read_codebook(take_bytes(&content, length));
    }
    return found;
}

static double centroid_of(const Codebook *book, int label, int along_trellis) {
    int index = label > 0 ? book->negative + label - 1 : book->negative + label;
    if (along_trellis) {
        if (!book->multiples) fail("a trellis without a stored grid is not supported by this reader");
        for (index = 0; index < book->count && book->multiples[index] != label;) index++;
    }
    if (index < 0 || index >= book->count) fail("the bundle is damaged: a label has no centroid");
    return book->values[index];
}

/* Signed labels of the whole network in form 0. */
static int32_t *read_deflated(Bytes mask, Bytes labels, size_t weights) {
    unsigned char *keep = unpack_bits(inflate_zlib(mask, (weights + 7) / 8), weights);
    size_t count = 0, next = 0;
    for (size_t index = 0; index < weights; index++) count += keep[index];
    int form = *take(&labels, 1), negative = form ? 0 : *take(&labels, 1);
    unsigned char *bytes = inflate_zlib(labels, form ? count * (size_t)form : (count + 1) / 2);
    int32_t *found = allocate(weights, sizeof(int32_t));
    for (size_t index = 0; index < weights; index++) {
        if (!keep[index]) continue;
        int rank = form ? 0 : next % 2 ? bytes[next / 2] & 15 : bytes[next / 2] >> 4;
        if (form == 0)
            found[index] = rank < negative ? rank - negative : rank - negative + 1;
        else
            found[index] = form == 1 ? (int8_t)bytes[next] : (int32_t)(uint32_t)little(bytes + 4 * next, 4);
        next++;
    }
    return found;
}

/* Put the weights of some blocks into w_net; `rest` holds weights that are not quantized. */
static void put(Weights *found, const Segment *segment, const int32_t *labels, const Codebooks *books, int trellis,
                Bytes rest, const char *type) {
    size_t count = 0, next = 0;
    double *values = NULL;
    for (int64_t index = 0; index < segment->size; index++) count += labels[index] != 0;
    if (!books) values = widen(unpack_planes(rest, count, width_of(type)), count, type);
    for (int number = 0; number < segment->count; number++) {
        const Block *block = segment->blocks + number;
        for (int64_t index = block->start; index < block->start + block->size; index++) {
            int label = labels[index - segment->blocks[0].start];
            if (!label) continue;
            const Codebook *book = books ? books->books + (books->count == 1 ? 0 : block->tensor) : NULL;
            found->vector[index] = book ? centroid_of(book, label, trellis) : values[next++];
            found->kept[index] = 1;
        }
    }
}

/* The bytes of each segment of a stream. */
static Bytes *split_segments(Bytes content, int count) {
    Bytes *found = allocate((size_t)count, sizeof(Bytes));
    uint64_t *lengths = allocate((size_t)count, sizeof(uint64_t));
    for (int number = 0; number + 1 < count; number++) lengths[number] = varint(&content);
    for (int number = 0; number < count; number++)
        found[number] = number + 1 < count ? take_bytes(&content, lengths[number]) : rest_of(&content);
    return found;
}

Weights decode_compact(Bytes mask, Bytes labels, Bytes centroids, const char *values, const Shape *shapes, int count) {
    Weights found = {NULL, NULL, 0, 0};
    for (int tensor = 0; tensor < count; tensor++) found.weights += (size_t)elements_of(shapes[tensor]);
    found.vector = allocate(found.weights, sizeof(double));
    found.kept = allocate(found.weights, 1);
    Codebooks read, *books = NULL;
    if (centroids.data) {
        read = read_codebooks(centroids, count);
        books = &read;
        for (int tensor = 0; tensor < read.count; tensor++) found.wide |= read.books[tensor].wide;
    }
    int segments, form = *take(&mask, 1);
    Segment *all = segments_of(shapes, count, &segments);
    Bytes *masks = form ? split_segments(rest_of(&mask), segments) : NULL;
    Bytes *parts = form ? split_segments(labels, segments) : NULL;
    if (form != 0 && form != 3 && form != 5) fail("the form %d of a mask is not known", form);
    if (form == 0) { /* all segments as one */
        Bytes own = books ? labels : take_bytes(&labels, varint(&labels));
        int32_t *network = read_deflated(rest_of(&mask), own, found.weights);
        Bytes rest = rest_of(&labels);
        Segment whole = {NULL, 0, (int64_t)found.weights};
        for (int number = 0; number < segments; number++) whole.count += all[number].count;
        whole.blocks = allocate((size_t)whole.count, sizeof(Block));
        for (int number = 0, next = 0; number < segments; next += all[number++].count)
            memcpy(whole.blocks + next, all[number].blocks, (size_t)all[number].count * sizeof(Block));
        put(&found, &whole, network, books, 0, rest, values);
        return found;
    }
    for (int number = 0; number < segments; number++) {
        int memory = 0;
        Bytes own = parts[number];
        if (!books) {
            uint64_t length = varint(&parts[number]);
            own = take_bytes(&parts[number], length);
        }
        int32_t *found_labels = form == 3 ? read_adaptive(all + number, masks[number], own, &memory)
                                          : read_huffman(all + number, masks[number], own);
        put(&found, all + number, found_labels, books, memory > 0, rest_of(&parts[number]), values);
    }
    return found;
}
