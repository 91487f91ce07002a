/* Form 3: adaptive models in contexts of level and neighbouring weights. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "segments.h"

static const int GAINS[] = {0, 1, 2, 3, 4, 6};
static const int CODES[][2] = {{0, 0},   {0, 0},    {05, 02},   {013, 04},
                               {023, 04}, {045, 010}, {0103, 024}, {0235, 0126}};

typedef struct {
    int block;
    int64_t start; /* within the block */
    int length, state;
} Lane;

typedef struct {
    const Segment *segment;
    Decoder zeros, others;
    unsigned char *levels, *bitmap, *has_bitmap; /* a level and a bit for each weight; a flag for each block */
    int32_t *magnitudes;
    int largest, dense, memory, buckets;
    int64_t expected[LEVELS];
    Model *zero_models[2 * LEVELS], *bucket_models[2 * LEVELS], *first_zero, *first_bucket, **place_models;
} Adaptive;

static int place_bits(int bucket) { return bucket < 4 ? 0 : bucket / 2 - 1; }
static int lowest_of(int bucket) { return bucket < 4 ? bucket + 1 : ((2 + bucket % 2) << place_bits(bucket)) + 1; }

static int bucket_of(int magnitude) {
    int rank = magnitude - 1, exponent = 0;
    if (rank < 4) return rank;
    while (rank >> (exponent + 1)) exponent++;
    return 2 * exponent + (rank >> (exponent - 1) & 1);
}

static int next_state(int memory, int state, int parity) {
    int next = (state >> 1) ^ (CODES[memory][0] >> 1) * (state & 1);
    return parity ? next ^ CODES[memory][1] >> 1 : next;
}

static int lane_length(const Block *block, int memory) {
    int each = block->positions;
    return memory ? (288 / each > 1 ? 288 / each : 1) * each : each;
}

static int64_t offset_of(const Segment *segment, int block) {
    return segment->blocks[block].start - segment->blocks[0].start;
}

/* A model for each context; a new one starts from that of the next lower known context. */
static Model *model_of(Model **models, Model *first, int context) {
    if (!models[context]) {
        int lower = context - 1;
        while (lower >= 0 && !models[lower]) lower--;
        models[context] = lower < 0 ? first : successor(models[lower]);
    }
    return models[context];
}

static void spread_levels(Adaptive *coder, const BlockLevels *levels) {
    unsigned char *to = coder->levels;
    for (int index = 0; index < coder->segment->count; index++) {
        const int64_t *sides = coder->segment->blocks[index].sides;
        for (int64_t row = 0; row < sides[0]; row++)
            for (int64_t column = 0; column < sides[1]; column++)
                for (int64_t place = 0; place < sides[2]; place++)
                    *to++ = (unsigned char)clip_level(levels[index].base + levels[index].offsets[0][row] +
                                                      levels[index].offsets[1][column] + levels[index].offsets[2][place]);
    }
}

static void read_expected(Adaptive *coder) {
    int present[LEVELS] = {0}, code = 0;
    Model *model = new_model(33, 2, 0);
    for (int64_t index = 0; index < coder->segment->size; index++) present[coder->levels[index]] = 1;
    for (int level = 0; level < LEVELS; level++) {
        coder->expected[level] = 1;
        if (!present[level]) continue;
        int32_t difference;
        decode_symbols(&coder->zeros, model, &difference, 1);
        code += difference - 16;
        code = code < 0 ? 0 : code > 84 ? 84 : code;
        coder->expected[level] = (int64_t)nearbyint(exp2(code / 4.0));
    }
}

static void read_bitmaps(Adaptive *coder, Bytes content) {
    const Segment *segment = coder->segment;
    int32_t *flags = allocate((size_t)segment->count, sizeof(int32_t));
    size_t total = 0, at = 0;
    decode_raw(&coder->zeros, 1, flags, (size_t)segment->count);
    for (int index = 0; index < segment->count; index++) {
        coder->has_bitmap[index] = (unsigned char)flags[index];
        if (flags[index]) total += (size_t)segment->blocks[index].size;
    }
    if (!total) return;
    unsigned char *bits = unpack_bits(inflate_zlib(content, (total + 7) / 8), total);
    for (int index = 0; index < segment->count; index++) {
        size_t size = (size_t)segment->blocks[index].size;
        if (!flags[index]) continue;
        memcpy(coder->bitmap + offset_of(segment, index), bits + at, size);
        at += size;
    }
}

static int same_group(const Adaptive *coder, int one, int other) {
    const Block *a = coder->segment->blocks + one, *b = coder->segment->blocks + other;
    return coder->has_bitmap[one] == coder->has_bitmap[other] && a->axes == b->axes &&
           !memcmp(a->neighbourhood, b->neighbourhood, (size_t)a->axes * sizeof(int64_t));
}

/* influence[a * positions + b]: how much position b of a neighbourhood counts for the later position a. */
static int *influence_of(const Block *block) {
    int positions = block->positions;
    int *influence = allocate((size_t)positions * (size_t)positions, sizeof(int));
    for (int a = 0; a < positions; a++)
        for (int b = 0; b < a; b++) {
            int64_t distance = 0, one = a, other = b;
            for (int axis = block->axes - 1; axis >= 0; axis--) {
                distance += llabs(one % block->neighbourhood[axis] - other % block->neighbourhood[axis]);
                one /= block->neighbourhood[axis];
                other /= block->neighbourhood[axis];
            }
            influence[a * positions + b] = distance == 1 ? 10 : distance == 2 ? 6 : 4;
        }
    return influence;
}

static int shifted_level(const Adaptive *coder, int64_t weight, int place, int gain, const int *influence) {
    int64_t own = 25 * coder->expected[coder->levels[weight]], found = own, due = own;
    for (int before = 0; before < place; before++) {
        int64_t neighbour = weight - place + before;
        found += 16 * (int64_t)coder->magnitudes[neighbour] * influence[before];
        due += coder->expected[coder->levels[neighbour]] * influence[before];
    }
    int64_t ratio = found * 1024 / due;
    int shift = -8;
    while (shift < 8 && ratio >= (int64_t)nearbyint(1024 * exp2((shift + 0.5) / gain))) shift++;
    return clip_level(coder->levels[weight] + shift);
}

/* One weight of each lane: `members` are indexes of weights, sorted by their contexts, which end at `ends`. */
static void read_step(Adaptive *coder, const int64_t *members, const int *ends, int has_bitmap) {
    int total = ends[2 * LEVELS - 1], kept = 0;
    int32_t *bits = allocate((size_t)total, sizeof(int32_t)), *buckets = allocate((size_t)total, sizeof(int32_t));
    int64_t *at = allocate((size_t)total, sizeof(int64_t));
    for (int context = 0, start = 0; context < 2 * LEVELS; start = ends[context++]) {
        int count = ends[context] - start, first = kept;
        if (!count) continue;
        for (int index = start; index < start + count; index++)
            bits[index] = has_bitmap ? coder->bitmap[members[index]] : 1;
        if (!has_bitmap && !coder->dense)
            decode_symbols(&coder->zeros, model_of(coder->zero_models, coder->first_zero, context), bits + start, (size_t)count);
        for (int index = start; index < start + count; index++)
            if (bits[index]) at[kept++] = members[index];
        if (kept > first)
            decode_symbols(&coder->others, model_of(coder->bucket_models, coder->first_bucket, context), buckets + first,
                           (size_t)(kept - first));
    }
    for (int bucket = 0; bucket < coder->buckets; bucket++) {
        int count = 0, noise = place_bits(bucket) > 6 ? place_bits(bucket) - 6 : 0;
        for (int index = 0; index < kept; index++) count += buckets[index] == bucket;
        if (!count) continue;
        int32_t *upper = allocate((size_t)count, sizeof(int32_t)), *lower = allocate((size_t)count, sizeof(int32_t));
        if (place_bits(bucket)) {
            decode_symbols(&coder->others, coder->place_models[bucket], upper, (size_t)count);
            decode_raw(&coder->others, noise, lower, (size_t)count);
        }
        for (int index = 0, next = 0; index < kept; index++)
            if (buckets[index] == bucket) {
                coder->magnitudes[at[index]] = lowest_of(bucket) + (upper[next] << noise | lower[next]);
                next++;
            }
        free(upper);
        free(lower);
    }
    free(bits);
    free(buckets);
    free(at);
}

static void read_group(Adaptive *coder, int first, const unsigned char *in_group) {
    const Segment *segment = coder->segment;
    const Block *shape = segment->blocks + first;
    int length = lane_length(shape, coder->memory), count = 0;
    int *influence = influence_of(shape);
    Lane *lanes = allocate((size_t)segment->size, sizeof(Lane)); /* more than there are */
    for (int block = first; block < segment->count; block++)
        for (int64_t start = 0; in_group[block] && start < segment->blocks[block].size; start += length) {
            int64_t left = segment->blocks[block].size - start;
            Lane lane = {block, offset_of(segment, block) + start, left < length ? (int)left : length, 0};
            lanes[count++] = lane;
        }
    int gain = GAINS[decode_integer(&coder->zeros, 3) % 6];
    int64_t *members = allocate((size_t)count, sizeof(int64_t));
    unsigned char *contexts = allocate((size_t)count, 1);
    for (int step = 0; step < length; step++) {
        int ends[2 * LEVELS] = {0}, next[2 * LEVELS], place = step % shape->positions;
        for (int lane = 0; lane < count; lane++) {
            if (lanes[lane].length <= step) continue;
            int64_t weight = lanes[lane].start + step;
            int level = gain && place ? shifted_level(coder, weight, place, gain, influence + place * shape->positions)
                                      : coder->levels[weight];
            contexts[lane] = (unsigned char)(level + LEVELS * (lanes[lane].state & 1));
            ends[contexts[lane]]++;
        }
        for (int context = 0, total = 0; context < 2 * LEVELS; context++) {
            next[context] = total;
            ends[context] = total += ends[context];
        }
        for (int lane = 0; lane < count; lane++)
            if (lanes[lane].length > step) members[next[contexts[lane]]++] = lanes[lane].start + step;
        read_step(coder, members, ends, coder->has_bitmap[first]);
        for (int lane = 0; coder->memory && lane < count; lane++)
            if (lanes[lane].length > step)
                lanes[lane].state =
                    next_state(coder->memory, lanes[lane].state, coder->magnitudes[lanes[lane].start + step] & 1);
    }
    free(influence);
    free(lanes);
    free(members);
    free(contexts);
}

static void apply_trellis(Adaptive *coder) {
    const Segment *segment = coder->segment;
    for (int block = 0; block < segment->count; block++) {
        int length = lane_length(segment->blocks + block, coder->memory), state = 0;
        int32_t *magnitudes = coder->magnitudes + offset_of(segment, block);
        for (int64_t index = 0; index < segment->blocks[block].size; index++) {
            if (index % length == 0) state = 0;
            int step = magnitudes[index];
            magnitudes[index] = step ? 2 * step - (state & 1) : 0;
            state = next_state(coder->memory, state, step & 1);
        }
    }
}

/* Signs of non-zero weights, those of the lowest bucket first, each bucket under a model of its own. */
static unsigned char *read_signs(Adaptive *coder) {
    size_t size = (size_t)coder->segment->size;
    unsigned char *negative = allocate(size, 1);
    int32_t *signs = allocate(size, sizeof(int32_t));
    for (int bucket = 0; bucket < coder->buckets; bucket++) {
        size_t count = 0, next = 0;
        for (size_t index = 0; index < size; index++)
            count += coder->magnitudes[index] && bucket_of(coder->magnitudes[index]) == bucket;
        if (!count) continue;
        decode_symbols(&coder->others, new_model(2, 16, 1), signs, count);
        for (size_t index = 0; index < size; index++)
            if (coder->magnitudes[index] && bucket_of(coder->magnitudes[index]) == bucket)
                negative[index] = (unsigned char)signs[next++];
    }
    free(signs);
    return negative;
}

int32_t *read_adaptive(const Segment *segment, Bytes mask, Bytes labels, int *memory) {
    size_t size = (size_t)segment->size;
    Adaptive coder = {0};
    uint64_t coded = varint(&mask);
    coder.segment = segment;
    coder.zeros = new_decoder(take_bytes(&mask, coded));
    coder.others = new_decoder(labels);
    coder.levels = allocate(size, 1);
    coder.bitmap = allocate(size, 1);
    coder.has_bitmap = allocate((size_t)segment->count, 1);
    coder.magnitudes = allocate(size, sizeof(int32_t));
    spread_levels(&coder, read_levels(&coder.zeros, segment));
    coder.largest = decode_integer(&coder.zeros, 17);
    coder.dense = decode_integer(&coder.zeros, 1);
    coder.memory = decode_integer(&coder.zeros, 3);
    if (coder.largest == 0 || coder.memory == 1) fail("the bundle is damaged: a segment has impossible statistics");
    read_expected(&coder);
    read_bitmaps(&coder, rest_of(&mask));
    coder.buckets = bucket_of(coder.largest) + 1;
    coder.first_zero = new_model(2, 16, 0);
    coder.first_bucket = new_model(coder.buckets, 8, 0);
    coder.place_models = allocate((size_t)coder.buckets, sizeof(Model *));
    for (int bucket = 0; bucket < coder.buckets; bucket++)
        coder.place_models[bucket] = new_model(1 << (place_bits(bucket) < 6 ? place_bits(bucket) : 6), 8, 0);
    unsigned char *done = allocate((size_t)segment->count, 1), *in_group = allocate((size_t)segment->count, 1);
    for (int first = 0; first < segment->count; first++) {
        if (done[first]) continue;
        for (int block = 0; block < segment->count; block++) {
            in_group[block] = (unsigned char)same_group(&coder, first, block);
            done[block] |= in_group[block];
        }
        read_group(&coder, first, in_group);
    }
    unsigned char *negative = read_signs(&coder);
    if (coder.memory) apply_trellis(&coder);
    for (size_t index = 0; index < size; index++)
        if (negative[index]) coder.magnitudes[index] = -coder.magnitudes[index];
    *memory = coder.memory;
    return coder.magnitudes;
}
