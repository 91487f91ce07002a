#include "segments.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT_WEIGHTS ((int64_t)1 << 21)

int64_t elements_of(Shape shape) {
    int64_t product = 1;
    for (int axis = 0; axis < shape.axes; axis++) product *= shape.sides[axis];
    return product;
}

int clip_level(int level) { return level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : level; }

/* Rows, columns and kernel of a tensor as a block of all its rows. */
static Block whole_block(Shape shape, int tensor) {
    Block block = {0, 0, {1, 1, 1}, tensor, {16}, 1, 16};
    if (shape.axes < 2) {
        block.sides[1] = elements_of(shape);
        return block;
    }
    int64_t kernel = 1;
    for (int axis = 2; axis < shape.axes; axis++) kernel *= shape.sides[axis];
    block.sides[0] = shape.sides[0];
    block.sides[1] = kernel > MAX_POSITIONS ? shape.sides[1] * kernel : shape.sides[1];
    block.sides[2] = kernel > MAX_POSITIONS ? 1 : kernel;
    if (block.sides[2] > 1) {
        block.axes = shape.axes - 2;
        block.positions = (int)kernel;
        memcpy(block.neighbourhood, shape.sides + 2, (size_t)block.axes * sizeof(int64_t));
    }
    return block;
}

Segment *segments_of(const Shape *shapes, int count, int *segments) {
    Segment *found = NULL;
    int64_t start = 0, room = 0;
    *segments = 0;
    for (int tensor = 0; tensor < count; tensor++) {
        Block block = whole_block(shapes[tensor], tensor);
        int64_t rows = block.sides[0], width = block.sides[1] * block.sides[2];
        if (rows * width == 0) continue;
        int64_t step = SEGMENT_WEIGHTS / width > 1 ? SEGMENT_WEIGHTS / width : 1;
        for (int64_t first = 0; first < rows; first += step) {
            block.sides[0] = rows - first < step ? rows - first : step;
            block.start = start + first * width;
            block.size = block.sides[0] * width;
            if (block.size > room) {
                found = realloc(found, (size_t)(*segments + 1) * sizeof(Segment));
                memset(found + (*segments)++, 0, sizeof(Segment));
                room = SEGMENT_WEIGHTS;
            }
            Segment *segment = found + *segments - 1;
            segment->blocks = realloc(segment->blocks, (size_t)(segment->count + 1) * sizeof(Block));
            segment->blocks[segment->count++] = block;
            segment->size += block.size;
            room -= block.size;
        }
        start += rows * width;
    }
    return found;
}

static int has_offsets(const Block *block, int axis) {
    return block->sides[axis] > 1 && block->size / block->sides[axis] >= 4;
}

BlockLevels *read_levels(Decoder *decoder, const Segment *segment) {
    BlockLevels *levels = allocate((size_t)segment->count, sizeof(BlockLevels));
    int32_t *bases = allocate((size_t)segment->count, sizeof(int32_t));
    decode_raw(decoder, 6, bases, (size_t)segment->count);
    for (int index = 0; index < segment->count; index++) {
        levels[index].base = bases[index];
        for (int axis = 0; axis < 3; axis++)
            levels[index].offsets[axis] = allocate((size_t)segment->blocks[index].sides[axis], sizeof(int32_t));
    }
    for (int axis = 0; axis < 3; axis++) {
        size_t total = 0, at = 0;
        for (int index = 0; index < segment->count; index++)
            if (has_offsets(segment->blocks + index, axis)) total += (size_t)segment->blocks[index].sides[axis];
        int32_t *flat = allocate(total, sizeof(int32_t));
        decode_symbols(decoder, new_model(33, 2, 0), flat, total);
        for (int index = 0; index < segment->count; index++)
            if (has_offsets(segment->blocks + index, axis))
                for (int64_t slice = 0; slice < segment->blocks[index].sides[axis]; slice++)
                    levels[index].offsets[axis][slice] = flat[at++] - 16;
        free(flat);
    }
    free(bases);
    return levels;
}
