#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cnet_reader.h"
#include "compact.h"
#include "entropy.h"
#include "numbers.h"

#define BLOCK_BYTES (1 << 24)
#define LONGEST_CODE 20

typedef enum { COMPRESSIBLE, OTHER, TIED } Role;

typedef struct {
    const Json *manifest, *header, *reconstruction;
    CnetTensor *tensors;
    Role *roles;
    size_t count;
    Shape *shapes; /* of the compressible tensors */
    int compressible;
    Member mask, labels, centroids; /* in the joined layout without element types */
    Bytes other, factors;
    int joined;
} Parts;

/* --- the list of tensors */

static Role role_of(const char *name) {
    return !strcmp(name, "compressible") ? COMPRESSIBLE : !strcmp(name, "other") ? OTHER : TIED;
}

static void set_tensor(Parts *parts, size_t index, char *name, char *dtype, const Json *shape, const char *role) {
    CnetTensor *tensor = parts->tensors + index;
    tensor->name = name;
    tensor->dtype = dtype;
    tensor->axes = (int)shape->count;
    tensor->shape = allocate(shape->count, sizeof(int64_t));
    tensor->size = 1;
    for (size_t axis = 0; axis < shape->count; axis++) {
        tensor->shape[axis] = json_integer(shape->items + axis);
        tensor->size *= (size_t)tensor->shape[axis];
    }
    parts->roles[index] = role_of(role);
    if (parts->roles[index] == COMPRESSIBLE) {
        Shape own = {tensor->shape, tensor->axes};
        parts->shapes[parts->compressible++] = own;
    }
}

/* The first dotted parts of a name, a dot where there are some, and the rest. */
static char *join_name(const char *before, int64_t shared, const char *rest) {
    size_t length = 0;
    for (; shared > 0 && before[length]; length++)
        if (before[length] == '.' && --shared == 0) break;
    char *name = allocate(length + strlen(rest) + 2, 1);
    sprintf(name, "%.*s%s%s", (int)length, before, length ? "." : "", rest);
    return name;
}

static void read_joined_tensors(Parts *parts, const Json *tensors) {
    const Json *kinds = json_get(parts->manifest, "kinds");
    for (size_t index = 0; index < tensors->count; index++) {
        const Json *entry = tensors->items + index;
        int64_t number = json_integer(entry->items), shared = entry->count == 3 ? json_integer(entry->items + 1) : 0;
        char *rest = entry->items[entry->count - 1].text;
        char *name = shared ? join_name(parts->tensors[index - 1].name, shared, rest) : rest;
        for (size_t role = 0; role < kinds->count; role++)
            for (size_t type = 0; type < kinds->items[role].count; type++) {
                const Json *shapes = kinds->items[role].items + type;
                if (number >= 0 && number < (int64_t)shapes->count)
                    set_tensor(parts, index, name, kinds->items[role].keys[type], shapes->items + number, kinds->keys[role]);
                number -= (int64_t)shapes->count;
            }
    }
}

static void read_tensors(Parts *parts) {
    const Json *tensors = json_get(parts->manifest, "tensors");
    if (!tensors) fail("the bundle is damaged: its manifest lists no tensors");
    const Json *names = json_get(tensors, "names");
    parts->count = names ? names->count : tensors->count;
    parts->tensors = allocate(parts->count, sizeof(CnetTensor));
    parts->roles = allocate(parts->count, sizeof(Role));
    parts->shapes = allocate(parts->count, sizeof(Shape));
    if (!names) {
        read_joined_tensors(parts, tensors);
        return;
    }
    const Json *dtypes = json_get(tensors, "dtypes"), *shapes = json_get(tensors, "shapes"), *roles = json_get(tensors, "roles");
    for (size_t index = 0; index < parts->count; index++)
        set_tensor(parts, index, names->items[index].text, dtypes->items[index].text, shapes->items + index,
                   roles->items[index].text);
}

/* --- other tensors of the joined layout */

typedef struct {
    const char *dtype, *stored;
    size_t count;
} Array;

static size_t unpack_block(Bytes content, Array *arrays, size_t count, int narrowed, unsigned char *to) {
    unsigned char *start = to, *flags = NULL, *done = allocate(count, 1);
    unsigned char **data = allocate(count, sizeof(unsigned char *));
    if (narrowed) flags = unpack_bits(take(&content, (count + 7) / 8), count);
    for (size_t index = 0; index < count; index++) arrays[index].stored = flags && flags[index] ? "float16" : arrays[index].dtype;
    for (size_t first = 0; first < count; first++) {
        if (done[first]) continue;
        size_t total = 0, width = (size_t)width_of(arrays[first].stored);
        for (size_t index = first; index < count; index++)
            if (!strcmp(arrays[index].stored, arrays[first].stored)) total += arrays[index].count;
        uint64_t length = varint(&content);
        unsigned char *numbers = unpack_planes(take_bytes(&content, length), total, (int)width);
        for (size_t index = first; index < count; index++) {
            if (strcmp(arrays[index].stored, arrays[first].stored)) continue;
            data[index] = numbers;
            numbers += arrays[index].count * width;
            done[index] = 1;
        }
    }
    for (size_t index = 0; index < count; index++) {
        size_t bytes = arrays[index].count * (size_t)width_of(arrays[index].dtype);
        if (flags && flags[index])
            data[index] = store(widen(data[index], arrays[index].count, "float16"), arrays[index].count, arrays[index].dtype, &bytes);
        memcpy(to, data[index], bytes);
        to += bytes;
    }
    return (size_t)(to - start);
}

static Bytes unpack_others(Parts *parts, Bytes *data) {
    const Json *sizes = json_get(parts->manifest, "others"), *packing = json_get(parts->manifest, "packing");
    const Json *kind = json_get(packing, "kind");
    int narrowed = kind && !strcmp(kind->text, "float16");
    size_t total = 0, written = 0, blocks = 0, room = 0, count = 0;
    for (size_t index = 0; index < parts->count; index++)
        if (parts->roles[index] == OTHER) total += parts->tensors[index].size * (size_t)width_of(parts->tensors[index].dtype);
    unsigned char *found = allocate(total, 1);
    Array *arrays = allocate(parts->count + 1, sizeof(Array));
    for (size_t index = 0; index < parts->count; index++) {
        CnetTensor *tensor = parts->tensors + index;
        size_t width = (size_t)width_of(tensor->dtype);
        for (size_t left = parts->roles[index] == OTHER ? tensor->size : 0; left;) {
            if (room < width) {
                if (count) written += unpack_block(take_bytes(data, (size_t)json_integer(sizes->items + blocks++)), arrays, count, narrowed, found + written);
                count = 0;
                room = BLOCK_BYTES;
            }
            Array array = {tensor->dtype, NULL, left < room / width ? left : room / width};
            arrays[count++] = array;
            left -= array.count;
            room -= array.count * width;
        }
    }
    if (count) unpack_block(take_bytes(data, (size_t)json_integer(sizes->items + blocks)), arrays, count, narrowed, found + written);
    return bytes_of(found, total);
}

/* --- members */

static Member member_of(Bytes content) {
    Member member = {"", content.length, content.data, content.length};
    return member;
}

static void read_parts(Parts *parts, const unsigned char *file, size_t length) {
    parts->joined = !json_get(parts->manifest, "members");
    if (!parts->joined) {
        parts->mask = read_member(file, length, "mask");
        parts->labels = read_member(file, length, "labels");
        parts->centroids = read_member(file, length, "centroids");
        Member other = read_member(file, length, "other");
        parts->other = bytes_of(other.data, other.length);
        return;
    }
    Member member = read_member(file, length, "data");
    Bytes data = bytes_of(member.data, member.length);
    const Json *sizes = json_get(parts->manifest, "sizes");
    if (!sizes || sizes->count < 2) fail("the bundle is damaged: its manifest has no sizes");
    parts->mask = member_of(take_bytes(&data, (size_t)json_integer(sizes->items)));
    parts->labels = member_of(take_bytes(&data, (size_t)json_integer(sizes->items + 1)));
    if (sizes->count > 2) parts->centroids = member_of(take_bytes(&data, (size_t)json_integer(sizes->items + 2)));
    parts->other = unpack_others(parts, &data);
}

/* --- w_net of the encoders npz and huffman */

static const char *type_of_descr(const char *descr) {
    return !strcmp(descr, "<f8") ? "float64" : !strcmp(descr, "<f2") ? "float16" : "float32";
}

static double *member_values(Member member) { return widen(member.data, member.count, type_of_descr(member.descr)); }

/* Symbols of the next row: a table of code lengths in `lengths`, and codes in the bits of `codes` from `*at` on. */
static void read_row(const unsigned char *lengths, size_t alphabet, Bytes codes, size_t *at, int32_t *symbols, size_t count) {
    int32_t *ordered = allocate(alphabet, sizeof(int32_t));
    int64_t first[LONGEST_CODE + 2] = {0}, counts[LONGEST_CODE + 1] = {0}, before[LONGEST_CODE + 2] = {0};
    int64_t next = 0;
    for (int length = 1; length <= LONGEST_CODE; length++) {
        before[length] = next;
        for (size_t symbol = 0; symbol < alphabet; symbol++)
            if (lengths[symbol] == length) {
                ordered[next++] = (int32_t)symbol;
                counts[length]++;
            }
        first[length + 1] = (first[length] + counts[length]) * 2;
    }
    for (size_t index = 0; index < count; index++) {
        int64_t value = 0;
        int length = 0;
        do {
            if (length == LONGEST_CODE || *at / 8 >= codes.length) fail("the bundle is damaged: a Huffman code is not known");
            value = value * 2 + (codes.data[*at / 8] >> (7 - *at % 8) & 1);
            ++*at;
            ++length;
        } while (value - first[length] < 0 || value - first[length] >= counts[length]);
        symbols[index] = ordered[before[length] + value - first[length]];
    }
    free(ordered);
}

static void huffman_mask(Parts *parts, Weights *found) {
    const Json *runs = json_get(parts->header, "runs");
    Bytes rest = bytes_of(parts->mask.data, parts->mask.length);
    const unsigned char **tables = allocate((size_t)parts->compressible, sizeof(*tables));
    for (int tensor = 0; tensor < parts->compressible; tensor++) tables[tensor] = take(&rest, parts->shapes[tensor].axes == 2 ? 32 : 256);
    Bytes codes = rest_of(&rest);
    int64_t start = 0;
    size_t at = 0;
    for (int tensor = 0; tensor < parts->compressible; tensor++) {
        int full = parts->shapes[tensor].axes == 2 ? 31 : 255;
        size_t count = (size_t)json_integer(runs->items + tensor);
        int32_t *symbols = allocate(count, sizeof(int32_t));
        int64_t position = start - 1;
        read_row(tables[tensor], (size_t)full + 1, codes, &at, symbols, count);
        for (size_t index = 0; index < count; index++) {
            position += symbols[index] == full ? full : symbols[index] + 1;
            if (position >= (int64_t)found->weights) fail("the bundle is damaged: a run goes beyond the weights");
            if (symbols[index] != full) found->kept[position] = 1;
        }
        start += elements_of(parts->shapes[tensor]);
    }
}

static int32_t *huffman_labels(Parts *parts, size_t kept, size_t centroids) {
    const Json *counts = json_get(parts->header, "kept");
    Bytes rest = bytes_of(parts->labels.data, parts->labels.length);
    const unsigned char *tables = take(&rest, centroids * (size_t)parts->compressible);
    Bytes codes = rest_of(&rest);
    int32_t *labels = allocate(kept, sizeof(int32_t));
    size_t at = 0, next = 0;
    for (int tensor = 0; tensor < parts->compressible; tensor++) {
        size_t count = (size_t)json_integer(counts->items + tensor);
        if (next + count > kept) fail("the bundle is damaged: it has more labels than weights");
        read_row(tables + centroids * (size_t)tensor, centroids, codes, &at, labels + next, count);
        next += count;
    }
    return labels;
}

static Weights decode_separate(Parts *parts, const char *encoder) {
    Weights found = {NULL, NULL, 0, 0};
    const Json *values = json_get(parts->header, "values");
    size_t kept = 0, next = 0;
    int huffman = !strcmp(encoder, "huffman");
    if (!huffman && strcmp(encoder, "npz")) fail("the encoder %s is not known", encoder);
    for (int tensor = 0; tensor < parts->compressible; tensor++) found.weights += (size_t)elements_of(parts->shapes[tensor]);
    found.vector = allocate(found.weights, sizeof(double));
    found.kept = allocate(found.weights, 1);
    if (huffman)
        huffman_mask(parts, &found);
    else
        found.kept = unpack_bits(parts->mask.data, found.weights);
    for (size_t index = 0; index < found.weights; index++) kept += found.kept[index];
    found.wide = !strcmp(parts->centroids.descr, "<f8");
    double *numbers = NULL, *own = NULL;
    int32_t *labels = NULL;
    if (parts->centroids.data) {
        numbers = member_values(parts->centroids);
        size_t factors = json_get(parts->reconstruction, "length") ? (size_t)json_integer(json_get(parts->reconstruction, "length")) : 0;
        labels = huffman ? huffman_labels(parts, kept, parts->centroids.count - factors) : NULL;
    } else {
        own = values ? widen(parts->labels.data, kept, values->text) : member_values(parts->labels);
    }
    int width = !strcmp(parts->labels.descr, "<u2") ? 2 : 1;
    for (size_t index = 0; index < found.weights; index++) {
        if (!found.kept[index]) continue;
        if (own)
            found.vector[index] = own[next];
        else
            found.vector[index] = numbers[labels ? (uint64_t)labels[next] : little(parts->labels.data + (size_t)width * next, width)];
        next++;
    }
    return found;
}

/* --- what the position of a weight does to it */

static uint64_t mixed(uint64_t seed, uint64_t index) {
    uint64_t state = (index + 1) * 0x9E3779B97F4A7C15u + seed;
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
    state = (state ^ state >> 27) * 0x94D049BB133111EBu;
    return (state ^ state >> 31) >> 40;
}

static double *read_factors(Parts *parts, size_t count, const char *type) {
    if (parts->joined) return widen(unpack_planes(parts->factors, count, width_of(type)), count, type);
    size_t length = (size_t)json_integer(json_get(parts->reconstruction, "length"));
    return member_values(parts->centroids) + parts->centroids.count - length;
}

/* Factors of each tensor, of its rows and of its columns: (row * column) * tensor, all in the type of the centroids. */
static void scale_axes(Parts *parts, Weights *found, const char *type) {
    size_t count = 0, at = 0;
    for (int tensor = 0; tensor < parts->compressible; tensor++) {
        const Shape *shape = &parts->shapes[tensor];
        if (elements_of(*shape)) count += 1 + (shape->axes > 1 ? (size_t)(shape->sides[0] + shape->sides[1]) : 0);
    }
    double *own = read_factors(parts, count, type);
    for (int tensor = 0; tensor < parts->compressible; tensor++) {
        const Shape *shape = &parts->shapes[tensor];
        int64_t size = elements_of(*shape);
        if (!size) continue;
        int64_t rows = shape->axes > 1 ? shape->sides[0] : 1, columns = shape->axes > 1 ? shape->sides[1] : 1;
        double *row_factors = own + 1, *column_factors = own + 1 + rows;
        for (int64_t row = 0; row < rows; row++)
            for (int64_t column = 0; column < columns; column++) {
                double factor = *own;
                if (shape->axes > 1) factor = round_to(round_to(row_factors[row] * column_factors[column], type) * *own, type);
                for (int64_t entry = 0; entry < size / rows / columns; entry++, at++)
                    found->vector[at] = round_to(found->vector[at] * factor, type);
            }
        own += shape->axes > 1 ? 1 + rows + columns : 1;
    }
}

static void reconstruct(Parts *parts, Weights *found) {
    const Json *kind = json_get(parts->reconstruction, "kind");
    const char *type = found->wide ? "float64" : "float32";
    if (!kind) return;
    if (!strcmp(kind->text, "dither")) {
        double unit = strtod(json_get(parts->reconstruction, "step")->number, NULL) / (1 << 25);
        uint64_t seed = strtoull(json_get(parts->reconstruction, "seed")->number, NULL, 10);
        for (size_t index = 0; index < found->weights; index++)
            if (found->kept[index]) {
                double dither = (2 * (double)mixed(seed, index) + 1 - (1 << 24)) * unit;
                found->vector[index] = round_to(found->vector[index] - dither, type);
            }
        return;
    }
    if (!strcmp(kind->text, "axis_scales")) {
        scale_axes(parts, found, type);
        return;
    }
    int by_row = !strcmp(kind->text, "scales");
    size_t count = 0, part = 0, at = 0;
    for (int tensor = 0; tensor < parts->compressible; tensor++)
        if (elements_of(parts->shapes[tensor])) count += by_row && parts->shapes[tensor].axes ? (size_t)parts->shapes[tensor].sides[0] : 1;
    double *factors = read_factors(parts, count, type);
    for (int tensor = 0; tensor < parts->compressible; tensor++) {
        int64_t size = elements_of(parts->shapes[tensor]);
        if (!size) continue;
        int64_t rows = by_row && parts->shapes[tensor].axes ? parts->shapes[tensor].sides[0] : 1;
        for (int64_t row = 0; row < rows; row++, part++)
            for (int64_t index = 0; index < size / rows; index++, at++)
                found->vector[at] = round_to(found->vector[at] * factors[part], type);
    }
}

static Weights decode_weights(Parts *parts) {
    const Json *encoder = json_get(parts->manifest, "encoder"), *values = json_get(parts->header, "values");
    const Json *length = json_get(parts->reconstruction, "length");
    Weights found;
    if (!encoder) fail("the bundle is damaged: its manifest names no encoder");
    if (!strcmp(encoder->text, "compact")) {
        Bytes centroids = bytes_of(parts->centroids.data, parts->centroids.length);
        if (length) {
            size_t factors = (size_t)json_integer(length);
            if (factors > centroids.length) fail("the bundle is damaged: its factors are missing");
            centroids.length -= factors;
            parts->factors = bytes_of(centroids.data + centroids.length, factors);
        }
        found = decode_compact(bytes_of(parts->mask.data, parts->mask.length), bytes_of(parts->labels.data, parts->labels.length),
                               centroids, values ? values->text : NULL, parts->shapes, parts->compressible);
    } else {
        found = decode_separate(parts, encoder->text);
    }
    reconstruct(parts, &found);
    return found;
}

/* --- tensors */

static void fill(Parts *parts, const Weights *weights) {
    size_t start = 0;
    for (size_t index = 0; index < parts->count; index++) {
        CnetTensor *tensor = parts->tensors + index;
        if (parts->roles[index] == COMPRESSIBLE) {
            double *values = weights->vector + start;
            for (size_t each = 0; each < tensor->size; each++) values[each] = round_to(values[each], tensor->dtype);
            tensor->data = store(values, tensor->size, tensor->dtype, &tensor->bytes);
            start += tensor->size;
        } else if (parts->roles[index] == OTHER) {
            tensor->bytes = tensor->size * (size_t)width_of(tensor->dtype);
            const unsigned char *bytes = take(&parts->other, tensor->bytes);
            tensor->data = allocate(tensor->bytes, 1);
            if (tensor->bytes) memcpy(tensor->data, bytes, tensor->bytes);
            if (is_float(tensor->dtype))
                tensor->data = store(widen(bytes, tensor->size, tensor->dtype), tensor->size, tensor->dtype, &tensor->bytes);
        }
    }
    const Json *tied = json_get(parts->manifest, "tied");
    for (size_t group = 0; tied && group < tied->count; group++)
        for (size_t copy = 1; copy < tied->items[group].count; copy++) {
            const CnetTensor *first = parts->tensors + json_integer(tied->items[group].items);
            CnetTensor *tensor = parts->tensors + json_integer(tied->items[group].items + copy);
            tensor->data = first->data;
            tensor->bytes = first->bytes;
        }
}

static CnetTensor multiply(const Json *entry, const CnetTensor *left, const CnetTensor *right) {
    CnetTensor found = *right;
    size_t rows = (size_t)left->shape[0], rank = (size_t)left->shape[1], columns = rank ? right->size / rank : 0;
    double *one = widen(left->data, left->size, !strcmp(left->dtype, "float64") ? "float64" : "float32");
    double *other = widen(right->data, right->size, !strcmp(right->dtype, "float64") ? "float64" : "float32");
    found.name = json_get(entry, "name")->text;
    found.dtype = json_get(entry, "dtype")->text;
    found.size = rows * columns;
    found.shape = allocate((size_t)right->axes, sizeof(int64_t));
    memcpy(found.shape, right->shape, (size_t)right->axes * sizeof(int64_t));
    found.shape[0] = left->shape[0];
    double *values = allocate(found.size, sizeof(double));
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++) {
            double sum = one[row * rank] * other[column]; /* compile with -ffp-contract=off: each product is rounded */
            for (size_t each = 1; each < rank; each++) sum += one[row * rank + each] * other[each * columns + column];
            values[row * columns + column] = round_to(sum, found.dtype);
        }
    found.data = store(values, found.size, found.dtype, &found.bytes);
    return found;
}

static void put_products(Parts *parts) {
    const Json *products = json_get(parts->manifest, "products");
    for (size_t index = products ? products->count : 0; index > 0; index--) { /* the last one first: indexes stay valid */
        const Json *entry = products->items + index - 1;
        size_t left = (size_t)json_integer(json_get(entry, "left"));
        parts->tensors[left] = multiply(entry, parts->tensors + left, parts->tensors + left + 1);
        memmove(parts->tensors + left + 1, parts->tensors + left + 2, (parts->count - left - 2) * sizeof(CnetTensor));
        parts->count--;
    }
}

CnetBundle cnet_read_bundle(const unsigned char *file, size_t length) {
    Member member = read_member(file, length, "manifest");
    char *text = allocate(member.length + 1, 1);
    if (member.length) memcpy(text, member.data, member.length);
    Json manifest = json_parse(text);
    const Json *format = json_get(&manifest, "format");
    if (!format || strcmp(format->text, "cnet-bundle") || json_integer(json_get(&manifest, "version")) != 1)
        fail("this is no bundle of version 1");
    Parts parts = {0};
    parts.manifest = &manifest;
    parts.header = json_get(&manifest, "header");
    parts.reconstruction = json_get(&manifest, "reconstruction");
    read_tensors(&parts);
    read_parts(&parts, file, length);
    Weights weights = decode_weights(&parts);
    fill(&parts, &weights);
    put_products(&parts);
    CnetBundle bundle = {parts.tensors, parts.count};
    return bundle;
}
