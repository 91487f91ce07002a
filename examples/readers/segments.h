/* How a network is divided for coding, and the parts of a segment's code. */
#ifndef SEGMENTS_H
#define SEGMENTS_H

#include "compact.h"
#include "entropy.h"

#define LEVELS 40
#define MAX_POSITIONS 128

typedef struct {
    int64_t start, size;
    int64_t sides[3]; /* rows, columns, kernel positions */
    int tensor;
    int64_t neighbourhood[64];
    int axes, positions; /* of the neighbourhood */
} Block;

typedef struct {
    Block *blocks;
    int count;
    int64_t size;
} Segment;

typedef struct {
    int base;
    int32_t *offsets[3];
} BlockLevels;

Segment *segments_of(const Shape *shapes, int count, int *segments);
BlockLevels *read_levels(Decoder *decoder, const Segment *segment);
int clip_level(int level);

/* Signed labels of all weights of a segment, 0 where pruned; the memory of the trellis, or 0. */
int32_t *read_adaptive(const Segment *segment, Bytes mask, Bytes labels, int *memory);
int32_t *read_huffman(const Segment *segment, Bytes mask, Bytes labels);

#endif
